import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BuiltFile, BuiltPages } from '#console/built-pages';
import { nothingHere } from '#console/refusal';

/** The name of a file that is served changes with its contents. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const NOT_BUILT = 'The pages of the console are not built: run `npm run build:console`.\n';

const ACCEPTS_GZIP = /(?:^|,)\s*gzip\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i;

/**
 * Serves the pages: files below `/assets`, and at every other path that is not of the API the one
 * document, which finds its page by the path. Without built pages a line says how to build them.
 * Source: decision 251.
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
