import { type InstanceHead, NO_TAGS } from '#storage/ports/instances';
import {
  type Call,
  type History,
  nameSetBy,
  type Texts,
  tagsSetBy,
} from '#test/simulation/checks/history';
import { isAcknowledged, VersionIndex, Violation } from '#test/simulation/stored/version-index';

/* Name and tags of instances. A call may set only one of them, so each has its own author. */

/** The name or the tags of an instance. */
type Field = {
  readonly noun: string;
  readonly of: (texts: Texts) => string;
  readonly setBy: (call: Call) => string | undefined;
};

const NAME: Field = { noun: 'name', of: ({ name }) => name, setBy: nameSetBy };
const TAGS: Field = { noun: 'tags', of: ({ tagsJson }) => tagsJson, setBy: tagsSetBy };
const FIELDS = [NAME, TAGS];

/**
 * Author of a value: a call that sets the value, and was or may have been applied. `version`:
 * version that the call wrote; undefined if no answer contains the version.
 */
type Author = { readonly call: Call; readonly value: string; readonly version: number | undefined };

/** Authors that an answer may contain, and authors that the answer must contain. */
type Expected = {
  readonly may: (author: Author) => boolean;
  readonly must: (author: Author) => boolean;
};

/**
 * Checks the names and tags in all answers. Each is from the newest call that set this field.
 * Listings may have older tags, because they may read the store. Throws a `Violation`.
 */
export function checkTexts(history: Pick<History, 'calls'>): void {
  const index = new VersionIndex(history);
  const lists = history.calls.filter(({ requested }) => requested.kind === 'list');
  for (const instance of index.instances) {
    for (const field of FIELDS) {
      const authors = authorsOf(field, instance, index);
      checkAnswers(instance, field, authors, index);
      for (const list of lists) checkListed(instance, field, authors, list);
    }
  }
}

function checkAnswers(
  instance: string,
  field: Field,
  authors: readonly Author[],
  index: VersionIndex,
): void {
  for (const call of index.of(instance)) {
    const texts = call.outcome.kind === 'answered' ? call.outcome.seen.texts : undefined;
    const version = index.versionOf(call);
    if (texts === undefined || version === undefined) continue;
    const what = `${instance}: in the answer to call ${call.id}`;
    checkValue(what, field, texts, authors, upTo(version));
  }
}

/** Checks the stored name and tags of an instance. Throws a `Violation`. */
export function checkStoredTexts(instance: string, index: VersionIndex, head: InstanceHead): void {
  const { name, tagsJson = NO_TAGS, version } = head;
  const texts = { name, tagsJson };
  for (const field of FIELDS) {
    const authors = authorsOf(field, instance, index);
    checkValue(`${instance}: in the store`, field, texts, authors, upTo(version));
  }
}

function checkListed(
  instance: string,
  field: Field,
  authors: readonly Author[],
  { id, outcome, invokedMs, endedMs }: Call,
): void {
  const listed = outcome.kind === 'answered' ? outcome.seen.listed : undefined;
  const texts = listed?.get(instance);
  if (texts === undefined) return;
  if (field === TAGS && texts.tagsJson === '') return;
  checkValue(`${instance}: in the listing of call ${id}`, field, texts, authors, {
    may: ({ call }) => call.invokedMs < endedMs,
    // A directory is notified before the answer to a rename.
    must: ({ call }) => field === NAME && call.endedMs < invokedMs,
  });
}

/** Authors up to a version. An author of unknown version may be among them. */
function upTo(newest: number): Expected {
  return {
    may: ({ version = 0 }) => version <= newest,
    must: ({ version }) => version !== undefined && version <= newest,
  };
}

function authorsOf(field: Field, instance: string, index: VersionIndex): Author[] {
  return index.of(instance).flatMap((call): Author[] => {
    const value = field.setBy(call);
    if (value === undefined) return [];
    if (isAcknowledged(call)) return [{ call, value, version: index.versionOf(call) }];
    return call.outcome.kind === 'unknown' ? [{ call, value, version: undefined }] : [];
  });
}

function checkValue(
  what: string,
  { noun, of }: Field,
  texts: Texts,
  authors: readonly Author[],
  { may, must }: Expected,
): void {
  const found = authors.filter((author) => author.value === of(texts) && may(author));
  const value = `the ${noun} ${of(texts)}`;
  if (found.length === 0) throw new Violation(`${what}: no successful call set ${value}`);
  const [newest] = authors
    .filter((author) => must(author) && author.version !== undefined)
    .sort((one, other) => (other.version ?? 0) - (one.version ?? 0));
  const least = newest?.version ?? 0;
  if (found.some(({ version = least }) => version >= least)) return;
  throw new Violation(
    `${what}: ${value} is older than the ${noun} that call ${newest?.call.id} set`,
  );
}
