import type { z } from 'zod';
import { mayDo, type Permission } from '#accounts/role';
import type { Answer } from '#console/answer';
import type { Caller, LiveSessions } from '#console/live-sessions';
import type { Visit } from '#console/visit';
import { bodyFault, queryFault } from '#edge/schema-fault';
import { faultFor } from '#fault/fault';

/** A request as a route gets it: its body parsed but not checked, the ids of its path. */
export type Asked = {
  readonly body: unknown;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** Not checked. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly visit: Visit;
};

/** One route of the console: its path is under `/api`. */
export type ConsoleRoute = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Whether the route asks for no session. */
  readonly isOpen: boolean;
  readonly serve: (asked: Asked) => Promise<Answer>;
};

type Shape<Body> = Pick<ConsoleRoute, 'method' | 'path'> & { readonly body?: z.ZodType<Body> };

/** What a route for those who are signed in knows. */
export type CallerAsked<Body> = Omit<Asked, 'body'> & {
  readonly caller: Caller;
  readonly body: Body;
};

/** A route for anyone. */
export function openRoute<Body>(
  { method, path, body }: Shape<Body>,
  answer: (asked: Omit<Asked, 'body'> & { readonly body: Body }) => Promise<Answer>,
): ConsoleRoute {
  return {
    method,
    path,
    isOpen: true,
    serve: async (asked) => await answer({ ...asked, body: checked(body, asked.body) }),
  };
}

/**
 * A route for those who are signed in and whose role has `permission`, if it names one. Nothing of a
 * request is looked at before that.
 */
export function callerRoute<Body>(
  live: LiveSessions,
  shape: Shape<Body> & { readonly permission?: Permission; readonly isCostly?: boolean },
  answer: (asked: CallerAsked<Body>) => Promise<Answer>,
): ConsoleRoute {
  const { method, path, body, permission } = shape;
  return {
    method,
    path,
    isOpen: false,
    async serve(asked) {
      const caller = await live.callerOf(asked.visit);
      live.rates.countOf(caller.session, shape);
      if (permission !== undefined) assertMayDo(caller, permission);
      return await answer({ ...asked, caller, body: checked(body, asked.body) });
    },
  };
}

/** Throws 403 unless the caller's role has the permission. */
export function assertMayDo({ membership: { role } }: Caller, permission: Permission): void {
  if (mayDo(role, permission)) return;
  throw faultFor('role_not_allowed', `your role (${role}) does not allow this`);
}

/** Throws 422 with field and reason for a body that is not as the schema has it. */
function checked<Body>(schema: z.ZodType<Body> | undefined, body: unknown): Body {
  if (schema === undefined) return undefined as Body;
  const parsed = schema.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw bodyFault(parsed.error);
}

/** A query as the schema gives it. Throws 400 with parameter and reason for another one. */
export function checkedQuery<Query>(schema: z.ZodType<Query>, query: unknown): Query {
  const parsed = schema.safeParse(query, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw queryFault(parsed.error);
}
