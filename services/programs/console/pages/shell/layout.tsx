import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Me } from '#console/answers';
import { api } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { may, refreshMe, signOut } from '#pages/shell/session';
import { THEMES, theme, themeNamed } from '#pages/shell/theme';
import { submitted, type Values } from '#view/parts/field';
import { RefusalNotice } from '#view/parts/notice';
import { Keyboard, PaletteButton } from '#view/shell/keyboard';
import { here, Link, navigate } from '#view/shell/router';
import { Toasts } from '#view/shell/toasts';
import { BrandSign } from '#view/sign-in/frame';

/** Frame of the console: navigation, account switch and sign-out. */
export function Layout({
  me,
  children,
}: {
  readonly me: Me;
  readonly children: ComponentChildren;
}) {
  const out = useAction(signOut);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="side">
        <p class="brand">
          <BrandSign />
          Identity Engine
        </p>
        <AccountSwitch me={me} />
        <PaletteButton />
        <Navigation />
        <div class="own">
          <p class="own-name" title={me.user.email}>
            {me.user.name}
            <span class="quiet"> · {me.role}</span>
          </p>
          <div class="own-actions">
            <ThemeChoice />
            <button
              type="button"
              class="is-small"
              onClick={() => out.run()}
              aria-disabled={out.isBusy}
            >
              Sign out
            </button>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <RefusalNotice refusal={out.refusal} />
        {children}
      </main>
      <Keyboard me={me} pages={entries()} />
      <Toasts />
    </div>
  );
}

/** Links to the pages. On a phone, the row of links scrolls to the link of the present page. */
function Navigation() {
  const nav = useRef<HTMLElement>(null);
  const { path: present } = here.value;
  useEffect(() => {
    const row = nav.current;
    const link = row?.querySelector<HTMLElement>('[aria-current]');
    if (row === null || !link) return;
    row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.clientWidth) / 2;
  }, [present]);
  return (
    <nav aria-label="Pages" ref={nav}>
      <ul>
        {entries().map(([path, text]) => (
          <li key={path}>
            <Link to={path} isCurrent={isWithin(path)}>
              {text}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Selects the colours. */
function ThemeChoice() {
  return (
    <select
      class="is-small"
      aria-label="Theme"
      value={theme.value}
      onChange={({ currentTarget }) => {
        theme.value = themeNamed(currentTarget.value);
      }}
    >
      {THEMES.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Whether the current page is at or below a navigation entry. */
function isWithin(path: string): boolean {
  const now = here.value.path;
  if (path === '/fleet' && now.startsWith('/instances/')) return true;
  return now === path || now.startsWith(`${path}/`);
}

function entries(): (readonly [path: string, text: string])[] {
  return [
    ...(may('instances.read') ? [['/fleet', 'Fleet'] as const] : []),
    ...(may('instances.read') ? [['/webhooks', 'Webhooks'] as const] : []),
    ['/overview', 'Overview'],
    ...(may('keys.read') ? [['/keys', 'API keys'] as const] : []),
    ...(may('usage.read') ? [['/usage', 'Usage'] as const] : []),
    ...(may('billing') ? [['/billing', 'Billing'] as const] : []),
    ...(may('members') ? [['/members', 'Members'] as const] : []),
    ...(may('audit.read') ? [['/audit', 'Audit'] as const] : []),
    ['/security', 'Security'],
  ];
}

/** Account name, and a form that switches if the user has several accounts. */
function AccountSwitch({ me }: { readonly me: Me }) {
  const { loaded } = useLoaded(api.accounts);
  const { run, isBusy, refusal } = useAction(async ({ account: id = '' }: Values) => {
    await api.switchAccount(id);
    navigate('/');
    await refreshMe();
  });
  const own = loaded.kind === 'ready' ? loaded.value : [];
  const [chosen, choose] = useState(me.account.id);
  const name = me.account.name ?? me.account.id;
  if (own.length < 2) {
    return (
      <p class="account" title={me.account.id}>
        {name}
      </p>
    );
  }
  // A keyboard changes the value of a closed select with each key, so only the button switches.
  return (
    <form class="account-switch" onSubmit={submitted(run)}>
      <select
        class="account"
        name="account"
        aria-label="Account"
        value={chosen}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {own.map(({ id, name: text, role }) => (
          <option key={id} value={id}>
            {text ?? id} ({role})
          </option>
        ))}
      </select>
      {chosen === me.account.id ? null : (
        <button type="submit" class="is-small" aria-disabled={isBusy}>
          Switch
        </button>
      )}
      <RefusalNotice refusal={refusal} />
    </form>
  );
}
