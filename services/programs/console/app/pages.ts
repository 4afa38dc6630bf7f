import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { nothingHere } from '#console/app/refusal';

/** A file in both encodings: plain and gzip. */
type BuiltFile = {
  readonly type: string;
  readonly plain: Buffer;
  readonly packed: Buffer;
};

/**
 * The built pages: one HTML document and its assets. Asset names contain a content hash, so an
 * asset never changes.
 */
export type BuiltPages = {
  readonly document: BuiltFile;
  /** Assets by file name. */
  readonly assets: ReadonlyMap<string, BuiltFile>;
};

/** Output folder of `npm run build:console`. The cluster page is in the subfolder `cluster`. */
const FOLDER = fileURLToPath(new URL('../../../../build/console', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const pack = promisify(gzip);

/**
 * Reads the built pages into memory, because they are few and small. Returns undefined if the pages
 * are not built. Source: decision 251.
 */
export async function readBuiltPages(
  which: 'console' | 'cluster',
  built = FOLDER,
): Promise<BuiltPages | undefined> {
  const folder = which === 'console' ? built : join(built, which);
  try {
    const names = await readdir(join(folder, 'assets'));
    const files = names.map(
      async (name) => [name, await fileAt(join(folder, 'assets', name))] as const,
    );
    const document = await fileAt(join(folder, 'index.html'));
    return { document, assets: new Map(await Promise.all(files)) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function fileAt(path: string): Promise<BuiltFile> {
  const plain = await readFile(path);
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  return { type, plain, packed: await pack(plain, { level: 9 }) };
}

/** Header that lets browsers cache an asset forever, because a changed asset gets another name. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const NOT_BUILT = 'The pages of the console are not built: run `npm run build:console`.\n';

const ACCEPTS_GZIP = /(?:^|,)\s*gzip\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i;

/**
 * Serves the pages: assets under `/assets`, and the document at every other path outside `/api`. A
 * script in the document selects the page by path. If the pages are not built, the answer is a line
 * of text that says how to build them. Source: decision 251.
 */
export function addPages(app: FastifyInstance, pages: BuiltPages | undefined): void {
  app.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const file = pages?.assets.get(request.params.name);
    if (file === undefined) throw nothingHere();
    return send(request, reply.header('cache-control', FOR_EVER), file);
  });
  app.get('/*', async (request, reply) => {
    if (/^\/(?:api|assets)(?:[/?]|$)/.test(request.url)) throw nothingHere();
    if (pages === undefined) return reply.type('text/plain; charset=utf-8').send(NOT_BUILT);
    return send(request, reply, pages.document);
  });
}

function send({ headers }: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  reply.type(file.type).header('vary', 'accept-encoding');
  const isPacked = ACCEPTS_GZIP.test(String(headers['accept-encoding'] ?? ''));
  return isPacked
    ? reply.header('content-encoding', 'gzip').send(file.packed)
    : reply.send(file.plain);
}
