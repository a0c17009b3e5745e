/** Style sheets of the bundle. A strict security policy allows these, and no <style>. */

const adopted = new Set<string>();

/** Puts a style sheet on the page, once. */
export function adopt(css: string): void {
  if (adopted.has(css)) return;
  adopted.add(css);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
