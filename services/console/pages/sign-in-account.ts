/** The account whose people sign in with this browser: a link of it was used here. */
const KEY = 'sign-in-account';

/** The id of the account, to begin the form of the sign-in with; undefined: none is remembered. */
export function rememberedAccount(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    // A browser may refuse its storage: then the person types the id.
    return undefined;
  }
}

/** Remembers the account that a link leads into: its id stands before the dot. */
export function rememberAccountOf(token: string): void {
  try {
    localStorage.setItem(KEY, token.split('.')[0] ?? '');
  } catch {
    // As above.
  }
}
