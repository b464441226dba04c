// Keeps the files of one version of the page, so that all worlds work offline after one visit.
// `cargo xtask` fills in the version, the files of the build, whose names hold a hash, and the data that policies play
// with. Files with a hash come from the cache; everything else is requested from the network first, so that a newer page
// never runs with older parts. A newer version waits until no tab shows this one, and then removes its cache.
const VERSION = "development";
const FILES = [];
const DATA = [];

// Time after which a cached response, if any, replaces one that the network has not delivered.
const PATIENCE_MS = 4000;

const scope = new URL("./", self.location);
// Caches belong to the whole origin, where other copies of the page may be.
const PREFIX = `sentinel ${scope.pathname} `;
const CACHE = PREFIX + VERSION;
const hashed = new Set(FILES.map((name) => new URL(name, scope).href));

self.addEventListener("install", (event) => event.waitUntil(install()));

async function install() {
  const cache = await caches.open(CACHE);
  // The browser's own cache may hold the page and the data of another version. Of a file with a hash it holds the right
  // one, or what a host answered while the version was being deployed, so the host is asked whether it has changed.
  const page = new Request(scope.href, { cache: "reload" });
  await cache.addAll([page, ...[...hashed].map((file) => new Request(file, { cache: "no-cache" }))]);
  // Without these the rest works, and says what is missing.
  await Promise.allSettled(DATA.map((name) => cache.add(new Request(new URL(name, scope), { cache: "reload" }))));
}

self.addEventListener("activate", (event) => event.waitUntil(activate()));

async function activate() {
  // The tab of a first visit, too, gets its files from the cache.
  await self.clients.claim();
  const names = await caches.keys();
  const outdated = names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(outdated.map((name) => caches.delete(name)));
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope.href)) return;
  const name = new URL(request.url).pathname.slice(scope.pathname.length);
  const isPage = name === "" || name === "index.html";
  // The book and other documents beside the page are no part of it. The page asks past the cache for itself.
  if (request.mode === "navigate" ? !isPage : isPage || name.startsWith("docs/")) return;
  event.respondWith(hashed.has(request.url) ? fromCache(request) : fromNetwork(event, isPage, name));
});

async function fromCache(request) {
  return (await kept(request)) ?? fetch(request);
}

async function fromNetwork(event, isPage, name) {
  const { request } = event;
  const fetched = fetch(request);
  // The page of another version is not kept, since its parts are not in this cache. Storage that is full or refused
  // delays and fails nothing.
  event.waitUntil(fetched.then((response) => isPage || keep(request, response)).catch(() => {}));
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS)).then(() => kept(request, isPage));
  try {
    const response = (await Promise.race([fetched, late])) ?? (await fetched);
    // A host that is down, or that no longer has a part of an older version which a tab still shows.
    const isGone = response.status >= 500 || (!response.ok && /\.(js|wasm|css)$/.test(name));
    return (isGone && (await kept(request, isPage))) || response;
  } catch (error) {
    const response = await kept(request, isPage);
    if (response) return response;
    throw error;
  }
}

async function keep(request, response) {
  if (!response.ok) return;
  const copy = response.clone();
  await (await caches.open(CACHE)).put(request, copy);
}

// Returns the response that this version has kept, or else a file that another version has; nothing if there is none, or
// if the browser refuses its storage.
async function kept(request, isPage) {
  const options = { ignoreVary: true };
  try {
    const cache = await caches.open(CACHE);
    if (isPage) return await cache.match(scope.href, options);
    return (await cache.match(request, options)) ?? (await caches.match(request, options));
  } catch {
    return undefined;
  }
}
