// <sentinel-episode world="trust" task="3" seed="42" policy="grpo" t="14"></sentinel-episode>
//
// Shows an episode at one action in a frame. The content of the element, such as a picture, is shown until the page in
// the frame answers, and stays if it does not or if scripts are off. Attributes are the parameters of the page's address
// (docs/how-to/embed.md); `page` is the address of the page, by default the folder of this script, `title` names the
// frame, and `max-height` is its largest height in pixels.
//
// A classic script: browsers load a module from another site only if that site sends CORS headers.
(() => {
  // A page may hold this script once for each element.
  if (customElements.get("sentinel-episode")) return;

  const script = document.currentScript ?? document.querySelector("script[src*='sentinel-episode.js']");
  const PAGE = new URL("./", script?.src || document.baseURI);
  const PARAMETERS = ["world", "page-screen", "task", "seed", "policy", "vs", "streams", "rules", "t", "at", "acts", "resume", "view", "theme", "speed"];
  const MAX_HEIGHT = 420;
  // Time without an answer after which the element says so.
  const PATIENCE_MS = 15000;

  class SentinelEpisode extends HTMLElement {
    connectedCallback() {
      this.style.display = "block";
      if (this.frame) {
        // Moved in the document, where the frame loads anew.
        this.listen();
        return;
      }
      // A frame is loaded when it comes near the visible part of the page.
      this.observer ??= new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.show();
      }, { rootMargin: "400px" });
      this.observer.observe(this);
    }

    disconnectedCallback() {
      this.observer?.disconnect();
      clearTimeout(this.timer);
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

    maxHeight() {
      const given = Number.parseFloat(this.getAttribute("max-height"));
      return given > 0 ? given : MAX_HEIGHT;
    }

    show() {
      this.observer.disconnect();
      // Until the page answers, the frame lies unseen in the place of the content, at its later size.
      this.content = document.createElement("div");
      this.content.append(...this.childNodes);
      this.frame = document.createElement("iframe");
      this.frame.src = this.address(true);
      this.frame.title = this.getAttribute("title") ?? "An episode of Sentinel";
      this.frame.style.cssText = "display:block;width:100%;border:1px solid #8884;border-radius:10px;box-sizing:border-box";
      this.frame.style.height = `${this.maxHeight()}px`;
      const cell = document.createElement("div");
      cell.style.cssText = "display:grid;grid-template-columns:minmax(0,1fr)";
      cell.append(this.content, this.frame);
      for (const part of [this.content, this.frame]) part.style.gridArea = "1/1";
      // So that the text below moves now, before it is seen.
      this.content.style.maxHeight = this.frame.style.height;
      this.content.style.overflow = "hidden";
      const hasContent = this.content.children.length > 0 || this.content.textContent.trim() !== "";
      if (hasContent) this.cover(true);
      this.append(cell);
      this.listener = ({ source, data }) => {
        if (source !== this.frame.contentWindow || data?.type !== "sentinel-height") return;
        const height = Number(data.height);
        if (height > 0) this.answered(height);
      };
      this.listen();
    }

    listen() {
      addEventListener("message", this.listener);
      this.timer = setTimeout(() => this.unanswered(), PATIENCE_MS);
    }

    // Shows the content of the element in place of the frame, or the frame.
    cover(covered) {
      this.frame.style.opacity = covered ? "0" : "";
      this.frame.style.pointerEvents = covered ? "none" : "";
      this.content.style.display = covered ? "" : "none";
    }

    // A page that is higher than the frame is scrolled inside it.
    answered(height) {
      clearTimeout(this.timer);
      this.problem?.remove();
      this.problem = null;
      this.cover(false);
      // The border is a part of the height.
      this.frame.style.height = `${Math.min(Math.ceil(height) + 2, this.maxHeight())}px`;
    }

    unanswered() {
      this.cover(true);
      // It may still answer, and browsers do not lay out a frame of no size, which is that of its borders alone.
      this.frame.style.height = "3px";
      this.content.style.maxHeight = "";
      const link = document.createElement("a");
      link.href = this.address(false);
      link.target = "_blank";
      link.rel = "noopener";
      link.textContent = "Open the full page";
      this.problem ??= document.createElement("p");
      this.problem.setAttribute("role", "status");
      this.problem.replaceChildren("The episode could not be shown here. ", link, ".");
      this.append(this.problem);
    }
  }

  customElements.define("sentinel-episode", SentinelEpisode);
})();
