// The page around the widgets: which section is being read, and a word when the server is gone.
(() => {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const mark = () => {
    let current = null;
    for (const section of document.querySelectorAll("main section"))
      if (section.getBoundingClientRect().top < innerHeight / 3) current = section.id;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();

  const embedded = document.documentElement.dataset.mode === "embed";
  if (embedded) {
    // A host page that listens (embed.js) gives the frame the height of its content.
    const main = document.getElementById("main");
    const tell = () => parent.postMessage({ type: "serving-height", height: Math.ceil(main.getBoundingClientRect().height) + 1 }, "*");
    new ResizeObserver(tell).observe(main);
    addEventListener("message", (event) => { if (event.source === parent && event.data?.type === "serving-ask") tell(); });
    // What the section points at elsewhere, its sources and terms, is on the whole page.
    for (const link of document.querySelectorAll('a[href^="#"]'))
      if (!document.getElementById(link.hash.slice(1))) {
        link.href = `${location.pathname}${link.hash}`;
        link.target = "_blank";
        link.rel = "noopener";
      }
  }

  // The bar's height is what a jump must leave free.
  const bar = document.getElementById("scenario");
  if (!embedded) new ResizeObserver(() => document.documentElement.style.setProperty("scroll-padding-top", `${bar.offsetHeight + 24}px`)).observe(bar);

  // A lost connection. Bokeh tries again after 0, 2, 4, 8 and 16 s and would then draw the whole
  // document anew. Where the server still has this reader's session nothing is drawn: what was
  // missed is sent again. Where it has not, the address holds the state, and the page is reloaded.
  const lost = document.getElementById("lost");
  lost.querySelector("button").addEventListener("click", () => location.reload());
  const connection = window.Bokeh?.require?.("client/connection").ClientConnection?.prototype;
  const pull = connection?._repull_session_doc;
  const ownMark = (tags) => tags.find((tag) => String(tag).startsWith("session-"));
  if (pull)
    connection._repull_session_doc = async function (resolve, reject) {
      if (this.session == null) return pull.call(this, resolve, reject);
      try {
        const { doc_json } = await this._pull_doc_json();
        const there = doc_json.roots.map(({ attributes }) => ownMark(attributes.tags ?? [])).find(Boolean);
        const here = this.session.document.roots().map(({ tags }) => ownMark(tags)).find(Boolean);
        if (there === here) resolve(this.session);
        else location.reload();
      } catch (error) {
        reject(error);
      }
    };
  // After Bokeh's last try, and where the server refuses this page's old token: a reload, once the
  // server answers at all.
  const knock = async () => {
    const script = document.querySelector("script[src]");
    const answer = await fetch(script.src, { method: "HEAD", cache: "no-store" }).catch(() => null);
    if (answer?.ok) location.reload();
    else setTimeout(knock, 5_000);
  };
  const attach = () => {
    const doc = window.Bokeh && Bokeh.documents && Bokeh.documents[0];
    if (!doc) return setTimeout(attach, 100);
    doc.on_event("connection_lost", (_, event) => {
      lost.hidden = false;
      if (event.timeout == null) knock();
    });
    doc.on_event("client_reconnected", () => {
      lost.hidden = true;
      dispatchEvent(new Event("serving-again"));
    });
  };
  attach();
})();
