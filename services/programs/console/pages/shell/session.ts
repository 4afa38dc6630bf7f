import { signal } from '@preact/signals';
import type { Me, Permission, SignInState } from '#console/answers';
import { api, onSessionOver, Refused } from '#pages/shell/api';
import { forgetTexts, keepTexts } from '#pages/shell/kept-texts';

/** Browser session state. */
type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable'; readonly refusal: Refused }
  /** `hasEnded`: a session ended while this page was open. */
  | { readonly kind: 'signed_out'; readonly hasEnded: boolean }
  | { readonly kind: 'second_factor' }
  | { readonly kind: 'signed_in'; readonly me: Me };

/**
 * Present session. The address stays unchanged during a sign-in, so a sign-in returns to the page.
 */
export const session = signal<Session>({ kind: 'unknown' });

/** Notifies the other tabs of this browser about a sign-in or sign-out. */
const otherTabs = new BroadcastChannel('session');

/** Loads the session, and watches for its end, in this tab and in other tabs. */
export async function startSession(): Promise<void> {
  otherTabs.onmessage = () => void refreshMe();
  onSessionOver(() => {
    const hasEnded = session.value.kind === 'signed_in';
    if (session.value.kind === 'signed_in') keepTexts(ownerOf(session.value.me));
    if (hasEnded || session.value.kind === 'unknown') {
      session.value = { kind: 'signed_out', hasEnded };
    }
  });
  await refreshMe();
}

/** Reloads the user and permissions. */
export async function refreshMe(): Promise<void> {
  try {
    const me = await api.me();
    forgetTexts(ownerOf(me));
    session.value = { kind: 'signed_in', me };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // A reload between password and code continues with the code.
    if (error.reason === 'second_factor_needed') session.value = { kind: 'second_factor' };
    if (error.code === 'unauthorized') return;
    if (session.value.kind !== 'signed_in') {
      session.value = { kind: 'unreachable', refusal: error };
    }
  }
}

/** Continues after a correct password or code. */
export async function goOn({ state }: SignInState): Promise<void> {
  if (state === 'second_factor') {
    session.value = { kind: 'second_factor' };
    return;
  }
  await refreshMe();
  otherTabs.postMessage('signed in');
}

/** Signs out here and on the server. */
export async function signOut(): Promise<void> {
  await api.signOut();
  forgetTexts();
  session.value = { kind: 'signed_out', hasEnded: false };
  otherTabs.postMessage('signed out');
}

function ownerOf({ user, account }: Me) {
  return { userId: user.id, accountId: account.id };
}

/** Returns to the first sign-in step. */
export function startOver(): void {
  session.value = { kind: 'signed_out', hasEnded: false };
}

/** Whether the user has a permission. For display only: the console checks every request. */
export function may(permission: Permission): boolean {
  const now = session.value;
  return now.kind === 'signed_in' && now.me.permissions.includes(permission);
}
