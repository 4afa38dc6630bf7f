import { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import { mayDo, normalEmail, type Permission, ROLES } from '#accounts/people';
import { type Answer, originOf, type Visit } from '#console/app/visit';
import type { AuditAction, AuditLine } from '#console/people/audit';
import { type Caller, type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import { bodyFault, queryFault } from '#edge/serve/request-plan';
import { faultFor } from '#errors/fault';

/** A request as a route receives it: the body is parsed but not validated. */
type Asked = {
  readonly body: unknown;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** Query parameters, not validated. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly visit: Visit;
  /** Whether the page sent the request by itself. */
  readonly isUnattended: boolean;
};

/** A route of the console. The path is relative to `/api`. */
export type ConsoleRoute = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Whether the route needs no session. */
  readonly isOpen: boolean;
  readonly serve: (asked: Asked) => Promise<Answer>;
};

type Shape<Body> = Pick<ConsoleRoute, 'method' | 'path'> & { readonly body?: z.ZodType<Body> };

/** A request of a signed-in member, with a validated body. */
export type CallerAsked<Body> = Omit<Asked, 'body'> & {
  readonly caller: Caller;
  readonly body: Body;
};

/** Builds a route that needs no session. */
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
 * Builds a route for signed-in members. If `permission` is set, the member's role must have it. The
 * body is validated only after the checks of session and permission.
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
      const caller = await live.callerOf(asked.visit, !asked.isUnattended);
      live.rates.countOf(caller.session, shape);
      if (permission !== undefined) assertMayDo(caller, permission);
      return await answer({ ...asked, caller, body: checked(body, asked.body) });
    },
  };
}

/** Throws 403 unless the caller's role has the permission. */
export function assertMayDo({ membership: { role } }: Caller, permission: Permission): void {
  if (mayDo(role, permission)) return;
  throw faultFor('role_not_allowed', `your role (${role}) does not allow this action`);
}

/** Validates a body. Throws 422 with field and reason. */
function checked<Body>(schema: z.ZodType<Body> | undefined, body: unknown): Body {
  if (schema === undefined) return undefined as Body;
  const parsed = schema.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw bodyFault(parsed.error);
}

/** Validates a query. Throws 400 with parameter and reason. */
export function checkedQuery<Query>(schema: z.ZodType<Query>, query: unknown): Query {
  const parsed = schema.safeParse(query, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw queryFault(parsed.error);
}

/** Maximum length of a text in a body, in UTF-16 units. Routes check narrower bounds later. */
const TEXT_LENGTH_MAX = 1_024;

/** Maximum length of a person's name, in code points. */
const NAME_LENGTH_MAX = 100;

/**
 * Invisible characters. They are refused, because they can make two names look equal, or change the
 * layout of a page.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const text = z.string().max(TEXT_LENGTH_MAX);

const invalidText = (error: string) => ({ error, params: { reason: 'invalid_text' } });

const email = text
  .refine((given) => normalEmail(given) !== undefined, invalidText('must be an email address'))
  .transform((given) => normalEmail(given) ?? given);

const name = text
  .transform((given) => given.normalize('NFC').trim())
  .pipe(
    z
      .string()
      .min(1)
      .refine(
        (given) => [...given].length <= NAME_LENGTH_MAX && !UNSEEN.test(given),
        invalidText(`must have 1 to ${NAME_LENGTH_MAX} visible characters`),
      ),
  );

/** Body of `POST /api/setup`. */
export const SetUpBody = z.strictObject({
  token: text,
  email,
  password: text,
  name,
  code: text.optional(),
});

/** Body of `POST /api/invitations/accept`. The email comes from the invitation. */
export const AcceptBody = z.strictObject({
  token: text,
  password: text,
  name,
  code: text.optional(),
});

/** Body of `POST /api/entry-link`. */
export const EntryLinkBody = z.strictObject({ token: text, kind: z.enum(['setup', 'invitation']) });

/** Body of `POST /api/invitations/join`, which a signed-in user sends. */
export const JoinBody = z.strictObject({ token: text });

/**
 * Body of `POST /api/sign-in`. The email is not validated: an invalid email fails like an unknown
 * email.
 */
export const SignInBody = z.strictObject({
  email: text,
  password: text,
  account_id: text.optional(),
});

/** Body with a code: from the authenticator app, or a recovery code. */
export const CodeBody = z.strictObject({ code: text });

/** Body that confirms an action with the user's password. */
export const PasswordBody = z.strictObject({ password: text });

/** Body of `PUT /api/password`. */
export const NewPasswordBody = z.strictObject({ password: text, new_password: text });

/** Body of `POST /api/members/invitations`. */
export const InvitationBody = z.strictObject({ email, role: z.enum(ROLES) });

/** Body of `PATCH /api/members/:id`. */
export const RoleBody = z.strictObject({ role: z.enum(ROLES) });

/** Body of `POST /api/account/switch`. */
export const SwitchBody = z.strictObject({
  account_id: text.refine(isAccountId, invalidText('must be the id of an account')),
});

/** An empty body. */
export const EmptyBody = z.strictObject({});

/** Builds an audit line for an action of a signed-in member. */
export function lineOf(
  { session }: Caller,
  visit: Visit,
  action: AuditAction,
  more: Pick<AuditLine, 'target' | 'before' | 'after'> = {},
): AuditLine {
  const actor = { kind: 'user', id: session.userId, session: sessionIdOf(session) } as const;
  return { accountId: session.accountId, actor, ...originOf(visit), action, ...more };
}
