import type { FastifyInstance } from 'fastify';

/** The API document and its two readers; registered only where an operator wants them (spec 1.6). */
export async function documentRoutes(app: FastifyInstance): Promise<void> {
  app.get('/docs', async () => 'docs');
}
