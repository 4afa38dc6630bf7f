/**
 * Who made a key or a link: a member by the id of the user, or an operator by the name that `ctl`
 * sends.
 */
export type Creator = { readonly kind: 'user' | 'operator'; readonly id: string };

/** Longest text of a creator, in UTF-16 units: `operator ` and a name of 64. */
const TEXT = /^(?<kind>user|operator) (?<id>.{1,64})$/u;

/** A creator as one text, for stores that keep texts. */
export function creatorText({ kind, id }: Creator): string {
  return `${kind} ${id}`;
}

/** The creator that a text names; undefined: it names none that this release knows. */
export function creatorFrom(text: string | undefined): Creator | undefined {
  const { kind, id } = TEXT.exec(text ?? '')?.groups ?? {};
  if ((kind !== 'user' && kind !== 'operator') || id === undefined) return undefined;
  return { kind, id };
}
