// Makes a picture of a drawing. Loaded when a visitor asks for one.
// Throws a sentence for the visitor if it cannot.
const SCALE = 2;

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
