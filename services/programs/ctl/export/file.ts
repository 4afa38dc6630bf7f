import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { CtlError } from '#ctl/command';
import type { ExportCounts } from '#ctl/export/lines';
import { ExportLine, type LineOf } from '#ctl/export/schema';
import { parseJsonBody } from '#edge/serve/json';
import { toFault } from '#errors/fault';

/**
 * Maximum line size, in bytes. The largest valid line has a context of 8 KiB with every byte
 * escaped.
 */
const LINE_BYTES_MAX = 1_048_576;

const LINE_FEED = 10;

/** Receives the number of bytes read and the size of the file. */
type OnRead = (bytes: number, bytesTotal: number) => void;

/** Any line except the first and the last. */
type ContentLine = Exclude<ExportLine, { kind: 'export' | 'end' }>;

/**
 * Streaming reader of an export file, in constant memory. Throws a `CtlError` with the line number
 * for a wrong field, another format version, a truncated file, data after the end, wrong counts or
 * a wrong digest.
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
   * Opens a file and reads its first two lines. `onRead` is called after each read. Rejects with a
   * `CtlError` if the file is not an export.
   */
  static async open(path: string, onRead: OnRead = () => undefined): Promise<ExportFile> {
    const lines = linesOf(path, onRead);
    const first = await lines.next();
    if (first.done) throw new CtlError(`${path} is empty`);
    const header = parsed(path, first.value);
    if (header.kind !== 'export') throw wrong(path, 1, 'expected the first line of an export');
    const file = new ExportFile(path, header, lines);
    await file.#advance();
    return file;
  }

  /** Digest in the last line. Empty until the last line has been read. */
  get sha256(): string {
    return this.#sha256;
  }

  /** Number of lines read, by kind. */
  get counts(): ExportCounts {
    return this.#counts;
  }

  /** Returns the next line and advances if the line has this kind. Otherwise returns undefined. */
  async take<Kind extends ContentLine['kind']>(kind: Kind): Promise<LineOf<Kind> | undefined> {
    const line = this.#next;
    if (line?.kind !== kind) return undefined;
    await this.#advance();
    return line as LineOf<Kind>;
  }

  /** Returns the next line. Throws a `CtlError` if the line has another kind. */
  async expect<Kind extends ContentLine['kind']>(kind: Kind): Promise<LineOf<Kind>> {
    return (await this.take(kind)) ?? this.fail(`expected a line of kind ${kind}`);
  }

  /**
   * Refuses the file. Throws a `CtlError` with the reason and the line number (default: the next
   * line).
   */
  fail(reason: string, line = this.#number): never {
    throw wrong(this.#path, line, reason);
  }

  /** Number of the next line. */
  get lineNumber(): number {
    return this.#number;
  }

  /** Throws a `CtlError` if any line is left. */
  end(): void {
    if (this.#next !== undefined) this.fail(`unexpected line of kind ${this.#next.kind}`);
  }

  async #advance(): Promise<void> {
    const read = await this.#lines.next();
    this.#number += 1;
    if (read.done) this.fail('the file is cut off: the last line is missing');
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
      if (named !== count) {
        this.fail(`${name}: the last line has ${named}, but the file has ${count}`);
      }
    }
    if (line.sha256 !== sha256) this.fail('sha256: the file was changed after the export');
    this.#sha256 = sha256;
    if (!(await this.#lines.next()).done) this.fail('the file has more lines after the last line');
  }

  #count({ kind }: ContentLine): void {
    if (kind === 'key') this.#counts.keys += 1;
    if (kind === 'instance') this.#counts.instances += 1;
    if (kind === 'observation') this.#counts.observations += 1;
    if (kind === 'drift') this.#counts.drift_events += 1;
  }
}

/**
 * A line. If the line may be the last, `sha256Before` is the digest of all bytes before the line.
 */
type ReadLine = { readonly number: number; readonly text: string; readonly sha256Before: string };

function parsed(path: string, { number, text }: ReadLine): ExportLine {
  let value: unknown;
  try {
    // Refuses duplicate keys and excessive nesting, as in a request body.
    value = parseJsonBody(Buffer.from(text));
  } catch (error) {
    const { reason, message } = toFault(error);
    if (reason === 'invalid_text') throw wrong(path, number, message);
    if (reason === 'duplicate_key') throw wrong(path, number, 'duplicate JSON key');
    throw wrong(
      path,
      number,
      reason === 'too_deep' ? 'the JSON is nested too deep' : 'the line is not JSON',
    );
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
    if (open.length > LINE_BYTES_MAX) throw wrong(path, number + 1, 'the line is too long');
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
    // Only the last line needs the digest.
    const isLast = text.startsWith('{"kind":"end"');
    return { number, text, sha256Before: isLast ? hash.copy().digest('hex') : '' };
  } catch {
    throw wrong(path, number, 'the line is not UTF-8');
  }
}

async function* bytesOf(path: string, onRead: OnRead): AsyncGenerator<Buffer> {
  try {
    const found = await stat(path);
    // The import reads the file twice, which a pipe does not allow.
    if (!found.isFile()) {
      throw new CtlError(`${path} is not a regular file: the import reads the file twice`);
    }
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
