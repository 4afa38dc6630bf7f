/** A second factor by time-based codes (RFC 6238). Source: decision 246. */
export type SecondFactor = {
  /** `pending` until a first code has shown that its user has the secret. */
  readonly state: 'pending' | 'active';
  /** The shared secret, encrypted under the cluster's secret. */
  readonly sealedSecret: string;
  /** The newest time step of which a code was taken: none of it or before is taken again. */
  readonly lastStep: number;
};

/** A person who signs in to the console: of any number of accounts. Source: decision 245. */
export type User = {
  /** `usr_` and 16 hexadecimal characters. */
  readonly id: string;
  /** As `normalEmail` leaves it. No mail proves an address, so that it may be of several users. */
  readonly email: string;
  /**
   * The account whose link made the user: no other user of that account has the address. Absent: made
   * by a version whose addresses were unique everywhere. Source: decision 312.
   */
  readonly accountId?: string;
  readonly name: string;
  /** Algorithm, parameters, salt and hash in one text. */
  readonly passwordHash: string;
  /** Grows with every new password: sessions of an earlier one are over. */
  readonly credentialsVersion: number;
  readonly secondFactor?: SecondFactor;
  /** SHA-256 of the recovery codes that are left, base64url. */
  readonly recoveryDigests: readonly string[];
  /** SHA-256 of the cookies of browsers that have signed in, newest last, base64url. */
  readonly deviceDigests: readonly string[];
  readonly createdAtMs: number;
};

/** The text that no two users share, and by which a user is found at sign-in. */
export function signInName({ email, accountId }: Pick<User, 'email' | 'accountId'>): string {
  return accountId === undefined ? email : `${email} ${accountId}`;
}

/** The address and the account that a sign-in name is made of: no address has a space. */
export function addressIn(name: string): Pick<User, 'email' | 'accountId'> {
  const [email = name, accountId] = name.split(' ');
  return accountId === undefined ? { email } : { email, accountId };
}

const USER_ID = /^usr_[0-9a-f]{16}$/;

/** Whether a text has the form of a user's id. */
export function isUserId(text: string): boolean {
  return USER_ID.test(text);
}

/** Browsers of one user that are remembered; the oldest is forgotten first. Chosen. */
const DEVICES_MAX = 10;

/** UTF-16 units of an email address. Source: RFC 5321, 4.5.3.1.3. */
const EMAIL_LENGTH_MAX = 254;

const EMAIL = /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\].]+$/u;

/** What no address has and no page should show. */
const UNSEEN = /[\p{Cc}\p{Cf}]/u;

/**
 * The form in which an address is stored and compared: NFKC, trimmed, lower case. Undefined for what is
 * no address. The part before the `@` is lowered too, because providers ignore its case.
 */
export function normalEmail(text: string): string | undefined {
  const normal = text.normalize('NFKC').trim().toLowerCase();
  const isAddress = normal.length <= EMAIL_LENGTH_MAX && EMAIL.test(normal) && !UNSEEN.test(normal);
  return isAddress ? normal : undefined;
}

/** A user whose second factor is another; undefined: none any more, and no recovery codes. */
export function withSecondFactor(
  { secondFactor: _, ...user }: User,
  secondFactor: SecondFactor | undefined,
): User {
  return secondFactor === undefined ? { ...user, recoveryDigests: [] } : { ...user, secondFactor };
}

/** A user with one more browser that has signed in. */
export function withDevice(user: User, digest: string): User {
  const others = user.deviceDigests.filter((known) => known !== digest);
  return { ...user, deviceDigests: [...others, digest].slice(-DEVICES_MAX) };
}
