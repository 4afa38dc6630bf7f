/** What a browser has shown. */
export type ShownCookies = {
  readonly session: string | undefined;
  readonly device: string | undefined;
};

/** How long a browser is remembered after a sign-in, in seconds: 180 days. Source: decision 246. */
const DEVICE_S_MAX = 180 * 24 * 60 * 60;

/** No script reads them, and no other site's page makes a browser send them. Source: decision 245. */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/**
 * The cookies of the console. Over TLS their names begin with `__Host-`, with which a browser takes
 * them from this host alone, over TLS alone.
 */
export function cookiesOf(isSecure: boolean) {
  const [prefix, attributes] = isSecure ? ['__Host-', `${ATTRIBUTES}; Secure`] : ['', ATTRIBUTES];
  const [session, device] = [`${prefix}session`, `${prefix}device`];
  return {
    /** What a `Cookie` header shows. One that comes twice counts as none. */
    read(header: string | undefined): ShownCookies {
      const pairs = (header ?? '').split(';').map((pair) => pair.trim());
      const shown = (name: string) => {
        const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
        return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
      };
      return { session: shown(session), device: shown(device) };
    },
    /** Sets the value of the session, for as long as the browser is open. */
    session: (value: string) => `${session}=${value}; ${attributes}`,
    /** Takes the session away. */
    noSession: () => `${session}=; Max-Age=0; ${attributes}`,
    /** Has the browser remembered. */
    device: (value: string) => `${device}=${value}; Max-Age=${DEVICE_S_MAX}; ${attributes}`,
  };
}

/** The cookies of one console. */
export type Cookies = ReturnType<typeof cookiesOf>;
