// Starts the page's program, and keeps its files for offline visits.
const OFFLINE = "You are offline, and this part was not loaded before.";
const file = (name) => document.querySelector(`meta[name="${name}"]`)?.content;
const load = (name) => import(new URL(file(name), document.baseURI));

// Reloads the page if the host has another version of it by now, which replaced files of this one; at most once a minute.
window.reloadIfOutdated = async () => {
  try {
    const response = await fetch("./", { cache: "no-store" });
    const page = response.ok ? await response.text() : "";
    const own = [...document.querySelectorAll("meta[content^='./']")];
    const isOutdated = page.includes("page-module") && own.some(({ content }) => !page.includes(content));
    const last = Number(sessionStorage.getItem("sentinel-reloaded"));
    if (!isOutdated || Date.now() - last < 60000) return;
    sessionStorage.setItem("sentinel-reloaded", Date.now());
    location.reload();
  } catch {
    // Without network or storage the page stays, and says what it lacks.
  }
};

// Loads a script that is needed later, by its name in `index.html`.
window.loadScript = async (name) => {
  try {
    return await load(`script-${name}`);
  } catch (error) {
    window.reloadIfOutdated();
    throw error;
  }
};

try {
  const { default: start } = await load("page-module");
  // The words of the document are painted before the program occupies the thread; a hidden page paints nothing.
  await new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });
  await start({ module_or_path: new URL(file("page-program"), document.baseURI) });
} catch (error) {
  const place = document.getElementById("starting");
  if (place) place.textContent = navigator.onLine ? `The page could not start: ${error}. Reload it.` : OFFLINE;
  window.reloadIfOutdated();
  throw error;
}

// Nothing is cached while the page is embedded in another site.
if ("serviceWorker" in navigator && window.parent === window) {
  navigator.serviceWorker.register("service-worker.js", { updateViaCache: "none" }).catch(() => {});
}
