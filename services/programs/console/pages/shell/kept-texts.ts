import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';

/*
 * Typed texts survive the end of a session: when a session ends, this module keeps the text of each
 * field that uses `useKeptText`, by address of the page, form, field and initial text. After the
 * same user has signed in to the same account again in this tab, a field with the same key begins
 * with the text. Texts stay in memory, never in storage. Passwords, codes and typed confirmations
 * are never kept. A sign-out by the user forgets all texts.
 */

/** Name of the form around a field. Forms of one page can have fields with the same name. */
export const FormName = createContext('');

/** User and account whose texts are kept. */
type Owner = { readonly userId: string; readonly accountId: string };

let owner: Owner | undefined;
const texts = new Map<string, string>();

/** Attributes that mark a field, and its first text. */
type KeptField = {
  readonly value: string;
  readonly attributes: { readonly 'data-kept'?: string; readonly 'data-initial'?: string };
};

/**
 * First text of a field: the kept text, or else `initial`. A field with a secret sets `isKept` to
 * false.
 */
export function useKeptText(name: string, initial: string, isKept: boolean): KeptField {
  const form = useContext(FormName);
  const [first] = useState(() => {
    const key = JSON.stringify([location.pathname, form, name, initial]);
    const value = isKept ? texts.get(key) : undefined;
    texts.delete(key);
    return { key, value };
  });
  if (!isKept) return { value: initial, attributes: {} };
  const attributes = { 'data-kept': first.key, 'data-initial': initial };
  return { value: first.value ?? initial, attributes };
}

/** Keeps the changed texts on the page. Called when the session of `of` ends. */
export function keepTexts(of: Owner): void {
  owner = of;
  for (const field of document.querySelectorAll('[data-kept]')) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) continue;
    const { kept = '', initial } = field.dataset;
    if (field.value !== initial) texts.set(kept, field.value);
  }
}

/** Forgets all texts unless they belong to this user and account. Called after a sign-in. */
export function forgetTexts(unless?: Owner): void {
  const isSame = owner?.userId === unless?.userId && owner?.accountId === unless?.accountId;
  if (!isSame || unless === undefined) texts.clear();
}
