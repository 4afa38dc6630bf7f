import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { CtlError } from '#ctl/command';
import type { ExportCounts } from '#ctl/export/lines';
import { ExportLine, type LineOf } from '#ctl/export/schema';
import { parseJsonBody } from '#edge/serve/json';
import { toFault } from '#fault/fault';

/** Bytes of a line: the largest has a context of 8 KiB whose every byte is escaped. Chosen. */
const LINE_BYTES_MAX = 1_048_576;

const LINE_FEED = 10;

/** How much of a file has been read, of how much. */
type OnRead = (bytes: number, bytesTotal: number) => void;

/** What every line but the last and the first is. */
type ContentLine = Exclude<ExportLine, { kind: 'export' | 'end' }>;

/**
 * An export as it is read from a file, line after line, in memory that does not depend on its
 * length. Everything that is not as an export must be is a `CtlError` with the line: a wrong field,
 * another version, a file that was cut off or goes on behind its end, counts or a digest that do
 * not fit.
 */
export class ExportFile {
  readonly header: LineOf<'export'>;
  readonly #path: string;
  readonly #lines: AsyncGenerator<ReadLine>;
  readonly #counts = { keys: 0, instances: 0, observations: 0, drift_events: 0 };
  #number = 1;
  #next: ContentLine | undefined;
  #sha256 = '';

  private constructor(path: string, header: LineOf<'export'>, lines: AsyncGenerator<ReadLine>) {
    this.header = header;
    this.#path = path;
    this.#lines = lines;
  }

  /**
   * Opens a file and reads its first line and the one behind it. `onRead` hears now and then how
   * much of the file has been read, in bytes.
   */
  static async open(path: string, onRead: OnRead = () => undefined): Promise<ExportFile> {
    const lines = linesOf(path, onRead);
    const first = await lines.next();
    if (first.done) throw new CtlError(`${path} is empty`);
    const header = parsed(path, first.value);
    if (header.kind !== 'export') throw wrong(path, 1, 'an export begins with another line');
    const file = new ExportFile(path, header, lines);
    await file.#advance();
    return file;
  }

  /** The digest in the last line, once that has been read. */
  get sha256(): string {
    return this.#sha256;
  }

  /** How many of each kind have been read. */
  get counts(): ExportCounts {
    return this.#counts;
  }

  /** The next line if it is of this kind: then the one behind it comes next. */
  async take<Kind extends ContentLine['kind']>(kind: Kind): Promise<LineOf<Kind> | undefined> {
    const line = this.#next;
    if (line?.kind !== kind) return undefined;
    await this.#advance();
    return line as LineOf<Kind>;
  }

  /** The next line, which must be of this kind. */
  async expect<Kind extends ContentLine['kind']>(kind: Kind): Promise<LineOf<Kind>> {
    return (await this.take(kind)) ?? this.fail(`a line of kind ${kind} belongs here`);
  }

  /** Refuses the file for its present line, or the one `back` lines before. */
  fail(reason: string, line = this.#number): never {
    throw wrong(this.#path, line, reason);
  }

  /** The number of the line that comes next. */
  get lineNumber(): number {
    return this.#number;
  }

  /** Fulfils when nothing is left; rejects if there is. */
  end(): void {
    if (this.#next !== undefined) this.fail(`a line of kind ${this.#next.kind} stands here`);
  }

  async #advance(): Promise<void> {
    const read = await this.#lines.next();
    this.#number += 1;
    if (read.done) this.fail('the file is cut off: the last line is not there');
    const line = parsed(this.#path, read.value);
    if (line.kind === 'export') this.fail('a second export begins');
    if (line.kind === 'end') return await this.#close(line, read.value.sha256Before);
    this.#count(line);
    this.#next = line;
  }

  async #close(line: LineOf<'end'>, sha256: string): Promise<void> {
    this.#next = undefined;
    for (const [name, count] of Object.entries(this.#counts)) {
      const named = line[name as keyof ExportCounts];
      if (named !== count) this.fail(`${name}: ${named} are counted, ${count} are there`);
    }
    if (line.sha256 !== sha256)
      this.fail('sha256: the lines before are not those that were written');
    this.#sha256 = sha256;
    if (!(await this.#lines.next()).done) this.fail('the file goes on behind its end');
  }

  #count({ kind }: ContentLine): void {
    if (kind === 'key') this.#counts.keys += 1;
    if (kind === 'instance') this.#counts.instances += 1;
    if (kind === 'observation') this.#counts.observations += 1;
    if (kind === 'drift') this.#counts.drift_events += 1;
  }
}

/** A line, and the digest of all bytes before it where it may be the last. */
type ReadLine = { readonly number: number; readonly text: string; readonly sha256Before: string };

function parsed(path: string, { number, text }: ReadLine): ExportLine {
  let value: unknown;
  try {
    // Refuses a key that stands twice, and nesting beyond any use, as it does in a request.
    value = parseJsonBody(Buffer.from(text));
  } catch (error) {
    const { reason, message } = toFault(error);
    if (reason === 'invalid_text') throw wrong(path, number, message);
    if (reason === 'duplicate_key') throw wrong(path, number, 'a key stands twice');
    throw wrong(path, number, reason === 'too_deep' ? 'this nests too deep' : 'this is not JSON');
  }
  const result = ExportLine.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw wrong(path, number, `${field === '' ? '' : `${field}: `}${issue?.message}`);
}

function wrong(path: string, line: number, reason: string): CtlError {
  return new CtlError(`${path}, line ${line}: ${reason}`);
}

async function* linesOf(path: string, onRead: OnRead): AsyncGenerator<ReadLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  for await (const bytes of bytesOf(path, onRead)) {
    let open = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let end = open.indexOf(LINE_FEED); end !== -1; end = open.indexOf(LINE_FEED)) {
      number += 1;
      const line = open.subarray(0, end + 1);
      yield readLine(path, number, line, decoder, hash);
      hash.update(line);
      open = open.subarray(end + 1);
    }
    if (open.length > LINE_BYTES_MAX) throw wrong(path, number + 1, 'this line is too long');
    rest = open;
  }
  if (rest.length > 0) throw wrong(path, number + 1, 'the file is cut off in this line');
}

function readLine(
  path: string,
  number: number,
  line: Buffer,
  decoder: TextDecoder,
  hash: Hash,
): ReadLine {
  try {
    const text = decoder.decode(line.subarray(0, -1));
    // The only line whose digest is wanted; of every other one it would be thrown away.
    const isLast = text.startsWith('{"kind":"end"');
    return { number, text, sha256Before: isLast ? hash.copy().digest('hex') : '' };
  } catch {
    throw wrong(path, number, 'this is not UTF-8');
  }
}

async function* bytesOf(path: string, onRead: OnRead): AsyncGenerator<Buffer> {
  try {
    const found = await stat(path);
    // Anything else would have nothing left when it is read a second time.
    if (!found.isFile()) throw new CtlError(`${path} is not a file, and is read twice`);
    let read = 0;
    for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
      read += bytes.length;
      onRead(read, found.size);
      yield bytes;
    }
  } catch (error) {
    if (error instanceof CtlError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new CtlError(`${path} cannot be read: ${code}`, { cause: error });
  }
}
