// The theme, kept in this browser; and focus and scrolling, kept when a piece of the page is written anew.
(() => {
  const KEY = "hifi-theme";
  const THEMES = { auto: null, light: false, dark: true };
  const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => (localStorage.getItem(KEY) in THEMES ? localStorage.getItem(KEY) : "auto");

  const apply = () => {
    const theme = kept();
    if (typeof setDark === "function") setDark(THEMES[theme]);
    else document.body.classList.toggle("body--dark", THEMES[theme] ?? SYSTEM.matches); // a plain page
    document.querySelectorAll("[data-theme-button]").forEach((button) => {
      button.textContent = `Theme: ${theme}`;
    });
  };

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-button]")) return;
    const names = Object.keys(THEMES);
    localStorage.setItem(KEY, names[(names.indexOf(kept()) + 1) % names.length]);
    apply();
  });

  SYSTEM.addEventListener("change", apply);

  // Copies what is written in an element, for example a key that is shown once.
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copy]");
    const text = button && document.getElementById(button.dataset.copy);
    if (!text) return;
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected: press Ctrl+C";
    }
  });

  // An invitation is what follows # in its link. It is kept in this tab until its reader has accepted it, which leads
  // to the tenant's documents, and goes from the address, so that neither history nor screen shows it.
  const INVITED = "hifi-invitation";
  if (location.pathname === "/invitation" && location.hash.length > 1) {
    sessionStorage.setItem(INVITED, location.hash.slice(1));
    history.replaceState(history.state, "", location.pathname + location.search);
  }
  if (`${location.pathname}/`.startsWith("/documents/")) sessionStorage.removeItem(INVITED);

  const fillInvitation = () => {
    const field = document.querySelector("[data-invitation]");
    const kept = sessionStorage.getItem(INVITED);
    if (field && !field.value && kept) field.value = kept;
  };

  let focused = null;
  document.addEventListener("focusin", (event) => {
    focused = event.target.closest("[data-key]")?.dataset.key ?? null;
  });

  const refocus = () => {
    if (!focused || (document.activeElement && document.activeElement !== document.body)) return;
    const at = document.querySelector(`[data-key="${CSS.escape(focused)}"]`);
    (at?.matches("button") ? at : at?.querySelector("button"))?.focus({ preventScroll: true });
  };

  const scrolled = new Map();
  document.addEventListener(
    "scroll",
    ({ target }) => target.dataset?.scroll && scrolled.set(target.dataset.scroll, [target.scrollLeft, target.scrollTop]),
    true,
  );

  const scrollBack = (added) => {
    if (!(added instanceof Element)) return;
    const regions = [...added.querySelectorAll("[data-scroll]"), ...(added.matches("[data-scroll]") ? [added] : [])];
    for (const region of regions) {
      const place = scrolled.get(region.dataset.scroll);
      if (place) [region.scrollLeft, region.scrollTop] = place;
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    let themed = false;
    const changed = (changes) => {
      if (!themed && document.querySelector("[data-theme-button]")) {
        themed = true;
        apply();
      }
      changes.forEach((change) => change.addedNodes.forEach(scrollBack));
      fillInvitation();
      refocus();
    };
    new MutationObserver(changed).observe(document.body, { childList: true, subtree: true });
    changed([]); // a page that does not change is complete by now
  });
})();
