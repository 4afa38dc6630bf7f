/*
 * Text that others chose, on the terminal of an operator: nothing in it may steer the terminal, break
 * a line or show its letters in another order.
 */

/**
 * Control characters (C0, C1), characters that show nothing or change the direction of text, line and
 * paragraph separators, private and unassigned characters, lone surrogates. Joiners stay: emoji and
 * several scripts need them.
 */
const STEERING = /[\p{C}\u2028\u2029]/gu;
const JOINERS = new Set(['\u200c', '\u200d']);

/** Of printed text, line breaks stay: they are those of the command, whose cells have none. */
export function escapedText(text: string): string {
  return escaped(text, (character) => character === '\n');
}

/** Text of a cell, or of anything else that is one line. */
export function escapedLine(text: string): string {
  return escaped(text, () => false);
}

/** JSON with the same characters as `\u…`, which any reader of JSON takes for the characters. */
export function escapedJson(data: unknown): string {
  return escapedText(JSON.stringify(data, undefined, 2) ?? '');
}

function escaped(text: string, stays: (character: string) => boolean): string {
  return text.replaceAll(STEERING, (character) =>
    stays(character) || JOINERS.has(character) ? character : codeUnitsOf(character),
  );
}

/** As JSON writes characters: `\u001b`, and two of them outside the basic plane. */
function codeUnitsOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
