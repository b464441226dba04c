// <sentinel-episode world="trust" task="3" seed="42" policy="grpo" t="14"></sentinel-episode>
//
// Shows an episode at one action in a frame. The content of the element, such as a picture, is shown until the frame
// loads, and stays if scripts are off. Attributes are the parameters of the page's address (docs/how-to/embed.md);
// `page` is the address of the page, by default the folder of this script, and `title` names the frame.
const PAGE = new URL("./", import.meta.url);
const PARAMETERS = ["world", "page-screen", "task", "seed", "policy", "vs", "streams", "rules", "t", "at", "acts", "resume", "view", "theme", "speed"];
const HEIGHT = 560;

class SentinelEpisode extends HTMLElement {
  connectedCallback() {
    if (this.frame) return;
    // A frame is loaded when it comes near the visible part of the page.
    this.observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) this.show();
    }, { rootMargin: "400px" });
    this.style.display = "block";
    this.observer.observe(this);
  }

  disconnectedCallback() {
    this.observer?.disconnect();
    removeEventListener("message", this.listener);
  }

  address(embedded) {
    const page = new URL(this.getAttribute("page") ?? PAGE, document.baseURI);
    for (const name of PARAMETERS) {
      const value = this.getAttribute(name);
      if (value !== null) page.searchParams.set(name === "page-screen" ? "page" : name, value);
    }
    if (embedded) page.searchParams.set("embed", "1");
    return page;
  }

  show() {
    this.observer.disconnect();
    const frame = document.createElement("iframe");
    frame.src = this.address(true);
    frame.title = this.getAttribute("title") ?? "An episode of Sentinel";
    frame.style.cssText = `display:block;width:100%;height:${HEIGHT}px;border:1px solid #8884;border-radius:10px`;
    const link = document.createElement("a");
    link.href = this.address(false);
    link.target = "_blank";
    link.rel = "noopener";
    link.textContent = "Open the full page";
    const line = document.createElement("p");
    line.style.cssText = "margin:.3em 0 1em;font-size:.85em";
    line.append(link);
    this.listener = ({ source, data }) => {
      if (source !== frame.contentWindow || data?.type !== "sentinel-height") return;
      const height = Number(data.height);
      if (height > 0 && height < 5000) frame.style.height = `${Math.ceil(height)}px`;
    };
    addEventListener("message", this.listener);
    this.frame = frame;
    this.replaceChildren(frame, line);
  }
}

customElements.define("sentinel-episode", SentinelEpisode);
