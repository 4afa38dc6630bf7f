/**
 * A text as the glossary's patterns read it: identifiers split into their words, lines of a comment
 * joined, everything small.
 */
export function wordsOf(source: string): string {
  return source
    .replaceAll(/\n[ \t]*(?:\*|\/\/|#|--)?[ \t]*/g, ' ')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
