// Starts the page's program, and keeps its files for visits without a network.
const file = (name) => document.querySelector(`meta[name="${name}"]`)?.content;

try {
  const { default: start } = await import(new URL(file("page-module"), document.baseURI));
  await start({ module_or_path: new URL(file("page-program"), document.baseURI) });
} catch (error) {
  const place = document.getElementById("starting");
  if (place) place.textContent = `The page does not start: ${error}. Load it again.`;
  throw error;
}

// Within another site's page nothing is kept.
if ("serviceWorker" in navigator && window.parent === window) {
  navigator.serviceWorker.register("service-worker.js", { updateViaCache: "none" }).catch(() => {});
}
