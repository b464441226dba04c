// Caches the files of one version of the page, so that it works offline after the first visit.
// `cargo xtask` fills in the version and the files of the build. Files with a hash in their names come from the
// cache; everything else is requested from the network first, so that a newer page never runs with older parts.
const VERSION = "development";
const FILES = [];

// Time after which a cached response, if any, replaces one that the network has not delivered.
const PATIENCE_MS = 4000;

const CACHE = `sentinel-${VERSION}`;
const scope = new URL("./", self.location);
const hashed = new Set(FILES.map((name) => new URL(name, scope).href));

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([scope.href, ...hashed])));
});

self.addEventListener("activate", (event) => {
  const outdated = (names) => names.filter((name) => name.startsWith("sentinel-") && name !== CACHE);
  event.waitUntil(
    caches.keys().then((names) => Promise.all(outdated(names).map((name) => caches.delete(name)))),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope.href)) return;
  event.respondWith(hashed.has(request.url) ? fromCache(request) : fromNetwork(request));
});

async function fromCache(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreVary: true })) ?? fetch(request);
}

async function fromNetwork(request) {
  const cache = await caches.open(CACHE);
  const page = request.mode === "navigate";
  const kept = () => cache.match(page ? scope.href : request, { ignoreSearch: page, ignoreVary: true });
  const fetched = fetch(request).then(async (response) => {
    // The page of another version is not cached, since its parts are not in this cache.
    if (response.ok && !page) await cache.put(request, response.clone());
    return response;
  });
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS)).then(kept);
  try {
    return (await Promise.race([fetched, late])) ?? (await fetched);
  } catch (error) {
    const answer = await kept();
    if (answer) return answer;
    throw error;
  }
}
