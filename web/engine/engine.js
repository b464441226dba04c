// Runs the engine of a world in a Web Worker.
// Receives from the page: first the address of the world's program as text, then encoded requests.
// Sends to the page: {ready}, {reply}, {failed}.
const SLICE_MS = 40;
const waiting = [];
let engine = null;
let working = false;

const fail = (error) => postMessage({ failed: String(error?.message ?? error) });

function send(bytes, path) {
  if (path === null) postMessage({ reply: bytes }, [bytes.buffer]);
  else fetchFile(path);
}

// Answers `Need` with the file: Request::File { name, content: Result<bytes, sentence>, dropped: false }.
async function fetchFile(path) {
  let content;
  try {
    const response = await fetch(path);
    content = response.ok
      ? new Uint8Array(await response.arrayBuffer())
      : `${path} could not be fetched: the server answered with status ${response.status}`;
  } catch {
    content = `${path} could not be fetched: the server did not answer`;
  }
  call(() => typeof content === "string"
    ? engine.file_failed(path, content, send)
    : engine.file(path, content, send));
}

function call(action) {
  try {
    action();
    if (!working) {
      working = true;
      setTimeout(work);
    }
  } catch (error) {
    fail(error);
  }
}

// Works in slices, so that messages are handled in between.
function work() {
  try {
    working = engine.work(SLICE_MS, send);
    if (working) setTimeout(work);
  } catch (error) {
    fail(error);
  }
}

addEventListener("message", ({ data }) => {
  if (typeof data === "string") start(new URL(data, self.location));
  else if (engine) call(() => engine.handle(data, send));
  else waiting.push(data);
});

async function start(address) {
  try {
    const module = await import(address);
    await module.default({ module_or_path: new URL(address.href.replace(/\.js$/, "_bg.wasm")) });
    engine = module;
    postMessage({ ready: true });
    for (const data of waiting.splice(0)) call(() => engine.handle(data, send));
  } catch (error) {
    fail(error);
  }
}
