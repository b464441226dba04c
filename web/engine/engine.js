// Runs the engine of a world in a Web Worker.
// Receives from the page: first the address of the world's program as text, then encoded requests.
// Sends to the page: {ready}, {reply}, {failed}, and with {failed} whether the program could not be loaded, as {unloaded}.
const SLICE_MS = 40;
const OFFLINE = "You are offline, and this part was not loaded before.";
const waiting = [];
let engine = null;
let working = false;

const fail = (error, unloaded = false) => postMessage({ failed: String(error?.message ?? error), unloaded });

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
      : `${path} could not be fetched: the server answered with status ${response.status}.`;
  } catch {
    content = navigator.onLine ? `${path} could not be fetched: the server did not answer.` : OFFLINE;
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

// Handles a request, and frees its memory instead of leaving it to the garbage collection.
function handle(data) {
  engine.handle(data, send);
  data.buffer.transfer?.(0);
}

// Works in slices, so that messages are handled in between.
function work() {
  try {
    const pause = engine.work(SLICE_MS, send);
    working = pause >= 0;
    if (working) setTimeout(work, pause);
  } catch (error) {
    fail(error);
  }
}

addEventListener("message", ({ data }) => {
  if (typeof data === "string") start(new URL(data, self.location));
  else if (engine) call(() => handle(data));
  else waiting.push(data);
});

async function start(address) {
  try {
    const module = await import(address);
    await module.default({ module_or_path: new URL(address.href.replace(/\.js$/, "_bg.wasm")) });
    engine = module;
    postMessage({ ready: true });
    for (const data of waiting.splice(0)) call(() => handle(data));
  } catch (error) {
    const unloaded = engine === null;
    fail(unloaded && !navigator.onLine ? OFFLINE : error, unloaded);
  }
}
