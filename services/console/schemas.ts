import { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import { ROLES } from '#accounts/role';
import { normalEmail } from '#accounts/user';

/** UTF-16 units of any text of a body; bounds that mean something are looked at later. */
const TEXT_LENGTH_MAX = 1_024;

/** Code points of a person's name. Chosen. */
const NAME_LENGTH_MAX = 100;

/** What would make two names look the same, or a page look otherwise. */
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
        invalidText(`must be up to ${NAME_LENGTH_MAX} characters that can be seen`),
      ),
  );

/** `POST /api/setup`. */
export const SetUpBody = z.strictObject({
  token: text,
  email,
  password: text,
  name,
  code: text.optional(),
});

/** `POST /api/invitations/accept`; the email is that of the invitation. */
export const AcceptBody = z.strictObject({
  token: text,
  password: text,
  name,
  code: text.optional(),
});

/** `POST /api/invitations/join`, by who is signed in. */
export const JoinBody = z.strictObject({ token: text });

/** `POST /api/sign-in`. An email that is none is wrong in the same way as one of no user. */
export const SignInBody = z.strictObject({
  email: text,
  password: text,
  account_id: text.optional(),
});

/** A code of the second factor, or one for recovery. */
export const CodeBody = z.strictObject({ code: text });

/** What only who knows the password may do. */
export const PasswordBody = z.strictObject({ password: text });

/** `PUT /api/password`. */
export const NewPasswordBody = z.strictObject({ password: text, new_password: text });

/** `POST /api/members/invitations`. */
export const InvitationBody = z.strictObject({ email, role: z.enum(ROLES) });

/** `PATCH /api/members/:id`. */
export const RoleBody = z.strictObject({ role: z.enum(ROLES) });

/** `POST /api/account/switch`. */
export const SwitchBody = z.strictObject({
  account_id: text.refine(isAccountId, invalidText('must be the id of an account')),
});

/** A body that says nothing. */
export const EmptyBody = z.strictObject({});
