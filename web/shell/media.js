// Makes pictures and videos of what an engine has described. Loaded when a visitor asks for one.
// Both functions return a Blob, and throw a sentence for the visitor if they cannot.
const SCALE = 2;
const [WIDTH, HEIGHT] = [1280, 720];
const FPS = 30;
const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];
// An action takes at most and at least this long; a whole video is about LONGEST_MS.
const [SLOWEST_MS, FASTEST_MS, LONGEST_MS] = [900, 180, 30000];
const [START_MS, END_MS] = [600, 1800];
const [PAPER, CARD, INK, QUIET, RULE, ACCENT] = ["#f4f5f8", "#fff", "#14161f", "#555d6e", "#e0e3ea", "#3b3bd6"];
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const [LEFT, RIGHT, CHART_TOP, CHART_BOTTOM] = [56, WIDTH - 56, 238, HEIGHT - 54];

// Draws an SVG document at twice its size.
export async function png(svg) {
  const image = await picture(svg);
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  context(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw "This browser could not make a PNG of the drawing. Save the SVG instead.";
  return blob;
}

// Records the frames of an episode as WebM, in real time. `report` receives the share that is done; it returns
// `false` to cancel, and then the result is null.
export async function video(json, report) {
  const episode = JSON.parse(json);
  const canvas = document.createElement("canvas");
  const type = typeof MediaRecorder === "undefined" ? undefined : TYPES.find((type) => MediaRecorder.isTypeSupported(type));
  if (!type || !canvas.captureStream) {
    throw "This browser cannot record WebM videos. Chrome, Edge and Firefox can; the replay of the episode can be saved everywhere.";
  }
  [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  const draw = context(canvas);
  const [axes, content] = [await picture(episode.axes), await picture(episode.content)];
  const count = episode.frames.length - 1;
  const period = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, LONGEST_MS / count));
  const length = START_MS + count * period + END_MS;
  drawFrame(draw, episode, axes, content, 0);
  const stream = canvas.captureStream(FPS);
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 4_000_000 });
  const chunks = [];
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  const stopped = new Promise((done, fail) => {
    recorder.onstop = done;
    recorder.onerror = () => fail("The browser stopped recording the video.");
  });
  recorder.start(1000);
  const start = performance.now();
  let goesOn = true;
  for (let now = 0; now < length && goesOn; now = performance.now() - start) {
    drawFrame(draw, episode, axes, content, Math.min(count, Math.max(0, (now - START_MS) / period)));
    goesOn = report(now / length);
    await new Promise((next) => setTimeout(next, 1000 / FPS));
  }
  recorder.stop();
  await stopped;
  for (const track of stream.getTracks()) track.stop();
  return goesOn ? new Blob(chunks, { type: "video/webm" }) : null;
}

// Draws the episode at `time`, in actions: the chart moves towards the next action, texts change when it is reached.
function drawFrame(draw, { title, caption, chart, size, frames }, axes, content, time) {
  const last = frames.length - 1;
  const index = Math.min(last, Math.floor(time + 1e-6));
  const { headline, standing, score } = frames[index];
  const next = frames[Math.min(last, index + 1)];
  const x = frames[index].x + (next.x - frames[index].x) * ease(time - index);
  draw.fillStyle = PAPER;
  draw.fillRect(0, 0, WIDTH, HEIGHT);
  line(draw, `700 26px ${FONT}`, INK, title, LEFT, 58);
  line(draw, `18px ${FONT}`, QUIET, caption, LEFT, 88);
  draw.textAlign = "right";
  line(draw, `700 56px ${FONT}`, INK, score, RIGHT, 74);
  line(draw, `16px ${FONT}`, QUIET, "score so far", RIGHT, 100);
  draw.textAlign = "left";
  draw.font = `600 25px ${FONT}`;
  wrapped(draw, headline, RIGHT - LEFT).slice(0, 2).forEach((text, row) => line(draw, draw.font, INK, text, LEFT, 148 + 32 * row));
  draw.fillStyle = CARD;
  draw.strokeStyle = RULE;
  draw.beginPath();
  draw.roundRect(LEFT - 20, CHART_TOP - 42, RIGHT - LEFT + 40, CHART_BOTTOM - CHART_TOP + 54, 14);
  draw.fill();
  draw.stroke();
  line(draw, `600 17px ${FONT}`, INK, chart, LEFT, CHART_TOP - 14);
  const scale = Math.min((RIGHT - LEFT) / size[0], (CHART_BOTTOM - CHART_TOP) / size[1]);
  const [width, height] = [size[0] * scale, size[1] * scale];
  const left = LEFT + (RIGHT - LEFT - width) / 2;
  draw.drawImage(axes, left, CHART_TOP, width, height);
  draw.save();
  draw.beginPath();
  // At the end the names beside the lines are shown too.
  draw.rect(left, CHART_TOP, index === last ? width : x * scale, height);
  draw.clip();
  draw.drawImage(content, left, CHART_TOP, width, height);
  draw.restore();
  draw.fillStyle = ACCENT;
  draw.fillRect(left + x * scale - 1, CHART_TOP + 26 * scale, 2, height - 62 * scale);
  draw.fillRect(0, HEIGHT - 8, (WIDTH * time) / Math.max(1, last), 8);
  line(draw, `16px ${FONT}`, QUIET, standing, LEFT - 20, HEIGHT - 20);
}

function ease(share) {
  const moved = Math.min(1, Math.max(0, share / 0.9));
  return moved * moved * (3 - 2 * moved);
}

function line(draw, font, color, text, x, y) {
  draw.font = font;
  draw.fillStyle = color;
  draw.fillText(text, x, y);
}

// Splits a text into lines that fit into `width`, by the current font.
function wrapped(draw, text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && draw.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function context(canvas) {
  const drawing = canvas.getContext("2d");
  if (!drawing) throw "This browser cannot draw pictures.";
  return drawing;
}

async function picture(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  try {
    image.src = address;
    await image.decode();
    return image;
  } catch {
    throw "This browser could not draw the chart.";
  } finally {
    URL.revokeObjectURL(address);
  }
}
