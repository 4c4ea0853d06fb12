// For a page that embeds sections: <script src="…/assets/embed.js" async></script>, once or several times.
// Gives each <iframe data-serving> the height that its section asks for. A message counts only if it
// comes from the window of such a frame and from the origin that the frame's src names.
(() => {
  if (window.__servingEmbed) return;
  window.__servingEmbed = true;
  const frames = () => document.querySelectorAll("iframe[data-serving]");
  addEventListener("message", (event) => {
    if (event.data?.type !== "serving-height") return;
    for (const frame of frames()) {
      if (frame.contentWindow !== event.source || new URL(frame.src, location.href).origin !== event.origin) continue;
      const height = Number(event.data.height);
      if (Number.isFinite(height)) frame.style.height = `${Math.min(12000, Math.max(200, Math.ceil(height)))}px`;
    }
  });
  // A frame that was there before this script has said its height already: ask again.
  const ask = () => {
    for (const frame of frames()) frame.contentWindow?.postMessage({ type: "serving-ask" }, "*");
  };
  ask();
  addEventListener("load", ask);
})();
