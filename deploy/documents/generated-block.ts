/**
 * `text` with `lines` between the two comments of the block `name`. The comments stay, so that the
 * document keeps its other text. Throws unless the block exists exactly once.
 */
export function withBlock(text: string, name: string, lines: readonly string[]): string {
  const begin = `<!-- generated: ${name} -->`;
  const end = `<!-- end: ${name} -->`;
  const [before = '', rest = '', ...further] = text.split(begin);
  const at = rest.indexOf(end);
  if (further.length > 0 || at < 0) throw new Error(`there must be one block "${name}"`);
  return `${before}${begin}\n\n${lines.join('\n')}\n\n${rest.slice(at)}`;
}
