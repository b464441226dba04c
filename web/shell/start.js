// Starts the page's program, and caches its files for offline visits.
const file = (name) => document.querySelector(`meta[name="${name}"]`)?.content;

// Loads a script that is needed later, by its name in `index.html`.
window.loadScript = (name) => import(new URL(file(`script-${name}`), document.baseURI));

try {
  const { default: start } = await import(new URL(file("page-module"), document.baseURI));
  await start({ module_or_path: new URL(file("page-program"), document.baseURI) });
} catch (error) {
  const place = document.getElementById("starting");
  if (place) place.textContent = `The page could not start: ${error}. Reload it.`;
  throw error;
}

// Nothing is cached while the page is embedded in another site.
if ("serviceWorker" in navigator && window.parent === window) {
  navigator.serviceWorker.register("service-worker.js", { updateViaCache: "none" }).catch(() => {});
}
