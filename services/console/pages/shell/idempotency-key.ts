import { useRef } from 'preact/hooks';

/** Names what a form asks for, so that asking for it again does it once. */
export type IdempotencyKeys = {
  /** The same key for as long as the same is asked for. */
  readonly keyFor: (wanted: unknown) => string;
  /** It was done: what is asked for next is another thing, be it the same. */
  readonly done: () => void;
};

/** The keys of one form: a second click, or another try after an answer that got lost, does nothing twice. */
export function useIdempotencyKeys(): IdempotencyKeys {
  const newest = useRef({ text: '', key: '' });
  return {
    keyFor(wanted) {
      const text = JSON.stringify(wanted);
      if (text !== newest.current.text) newest.current = { text, key: randomKey() };
      return newest.current.key;
    },
    done() {
      newest.current = { text: '', key: '' };
    },
  };
}

/** 128 random bits in hexadecimal. `randomUUID` is not there for pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
