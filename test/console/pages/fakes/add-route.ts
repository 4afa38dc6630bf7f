import type { FastifyReply, FastifyRequest } from 'fastify';

/** Adds a fake answer to a route of the console. */
export type AddRoute = (
  method: string,
  url: string,
  answer: (request: FastifyRequest, reply: FastifyReply) => unknown,
) => void;
