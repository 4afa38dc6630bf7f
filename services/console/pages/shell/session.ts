import { signal } from '@preact/signals';
import type { Me, Permission, SignInState } from '#pages/shell/answers';
import { api, onSessionOver, Refused } from '#pages/shell/api';

/** Who is at the browser, as far as the pages know. */
type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable'; readonly refusal: Refused }
  /** `hasEnded`: someone was signed in on this page before. */
  | { readonly kind: 'signed_out'; readonly hasEnded: boolean }
  | { readonly kind: 'second_factor' }
  | { readonly kind: 'signed_in'; readonly me: Me };

/** Who is at the browser. Pages stay at their address while it changes, so a sign-in leads back. */
export const session = signal<Session>({ kind: 'unknown' });

/** Looks who is signed in, and from then on notices when a session has ended. */
export async function startSession(): Promise<void> {
  onSessionOver(() => {
    const hasEnded = session.value.kind === 'signed_in';
    if (hasEnded || session.value.kind === 'unknown') {
      session.value = { kind: 'signed_out', hasEnded };
    }
  });
  await refreshMe();
}

/** Reads again who is signed in and what they may do. */
export async function refreshMe(): Promise<void> {
  try {
    session.value = { kind: 'signed_in', me: await api.me() };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // A load of the page between password and code does not begin again.
    if (error.reason === 'second_factor_needed') session.value = { kind: 'second_factor' };
    if (error.code === 'unauthorized') return;
    if (session.value.kind !== 'signed_in') {
      session.value = { kind: 'unreachable', refusal: error };
    }
  }
}

/** Goes on after a password or a code was right. */
export async function goOn({ state }: SignInState): Promise<void> {
  if (state === 'second_factor') session.value = { kind: 'second_factor' };
  else await refreshMe();
}

/** Ends the session here and at the console. */
export async function signOut(): Promise<void> {
  await api.signOut();
  session.value = { kind: 'signed_out', hasEnded: false };
}

/** Back to the first step of a sign-in. */
export function startOver(): void {
  session.value = { kind: 'signed_out', hasEnded: false };
}

/** Whether who is signed in may do something; the console decides again at every request. */
export function may(permission: Permission): boolean {
  const now = session.value;
  return now.kind === 'signed_in' && now.me.permissions.includes(permission);
}
