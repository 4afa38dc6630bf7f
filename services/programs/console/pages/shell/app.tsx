import { useEffect } from 'preact/hooks';
import type { Me } from '#console/answers';
import { fleetApi } from '#pages/fleet/api';
import type { Refused } from '#pages/shell/api';
import { useLoaded, useRetry } from '#pages/shell/loaded';
import { may, refreshMe, session } from '#pages/shell/session';
import { AuditPage } from '#view/audit/page';
import { BillingPage } from '#view/billing/plan';
import { UsagePage } from '#view/billing/usage';
import { CreateInstancePage } from '#view/create/page';
import { TestPage } from '#view/create/personality-test';
import { ComparePage } from '#view/fleet/compare';
import { FleetPage } from '#view/fleet/page';
import { KeysPage } from '#view/keys/page';
import { Skeleton, sentence } from '#view/parts/notice';
import { MembersPage } from '#view/people/members';
import { SecurityPage } from '#view/people/security';
import { Layout } from '#view/shell/layout';
import { lazyPage } from '#view/shell/lazy';
import { entryLink, here, Link, navigate, Page } from '#view/shell/router';
import { SecondFactorPage, SignInPage } from '#view/sign-in/entering';
import { EntryPage } from '#view/sign-in/entry-link';
import { SignInFrame } from '#view/sign-in/frame';
import { OverviewPage } from '#view/start/page';

const InstancePage = lazyPage(async () => (await import('#view/instance/page')).InstancePage);
const EndpointPage = lazyPage(async () => (await import('#view/webhooks/endpoint')).EndpointPage);
const EventLogPage = lazyPage(async () => (await import('#view/webhooks/log')).EventLogPage);
const WebhooksPage = lazyPage(async () => (await import('#view/webhooks/page')).WebhooksPage);
const NewWebhookPage = lazyPage(async () => (await import('#view/webhooks/page')).NewWebhookPage);

/**
 * Root component. The session selects the sign-in pages or the console, and the address selects the
 * page.
 */
export function App() {
  const link = entryLink.value;
  if (link !== undefined) return <EntryPage link={link} />;
  const now = session.value;
  switch (now.kind) {
    case 'unknown':
      return (
        <main class="sign-in-frame" aria-busy="true">
          <p class="quiet" role="status">
            Loading …
          </p>
        </main>
      );
    case 'unreachable':
      return <Unreachable refusal={now.refusal} />;
    case 'signed_out':
      return <SignInPage hasEnded={now.hasEnded} />;
    case 'second_factor':
      return <SecondFactorPage />;
    case 'signed_in':
      // If the account changes, the new key makes Preact create all pages again.
      return (
        <Layout key={now.me.account.id} me={now.me}>
          <Routed me={now.me} path={here.value.path} />
        </Layout>
      );
  }
}

/** Page while the session cannot be loaded. Tries again by itself. */
function Unreachable({ refusal }: { readonly refusal: Refused }) {
  useRetry(refusal, () => void refreshMe(), false);
  return (
    <SignInFrame title="The console does not answer">
      <p role="alert">{sentence(refusal.message)}</p>
      <button type="button" class="is-main" onClick={() => void refreshMe()}>
        Try again
      </button>
    </SignInFrame>
  );
}

function Routed({ me, path }: { readonly me: Me; readonly path: string }) {
  if (/^\/(?:fleet|instances)(?:\/|$)/.test(path)) return <InstanceRoutes me={me} />;
  if (/^\/webhooks(?:\/|$)/.test(path)) return <WebhookRoutes />;
  switch (path) {
    case '/':
      return may('instances.read') ? <HomePage /> : <OverviewPage me={me} />;
    case '/overview':
      return <OverviewPage me={me} />;
    case '/keys':
      return may('keys.read') ? <KeysPage /> : <NotAllowed />;
    case '/usage':
      return may('usage.read') ? <UsagePage /> : <NotAllowed />;
    case '/billing':
      return may('billing') ? <BillingPage query={here.value.query} /> : <NotAllowed />;
    case '/members':
      return may('members') ? <MembersPage /> : <NotAllowed />;
    case '/audit':
      return may('audit.read') ? <AuditPage query={here.value.query} /> : <NotAllowed />;
    case '/security':
      return <SecurityPage />;
    default:
      return <NoPage />;
  }
}

/** Start page: the fleet if the account has instances, and the overview otherwise. */
function HomePage() {
  const { loaded } = useLoaded(() => fleetApi.list(new URLSearchParams({ limit: '1' })));
  // The fleet shows why the instances cannot be read.
  const isEmpty = loaded.kind === 'ready' && loaded.value.pagination.total === 0;
  useEffect(() => {
    if (loaded.kind !== 'loading') navigate(isEmpty ? '/overview' : '/fleet', 'replace');
  }, [loaded.kind]);
  return <Skeleton what="account" />;
}

/** An earlier address of a page: shows the present address. */
function Moved({ to }: { readonly to: string }) {
  useEffect(() => navigate(to, 'replace'), [to]);
  return null;
}

/** Pages at and below `/fleet` and `/instances`. */
function InstanceRoutes({ me }: { readonly me: Me }) {
  const { path, query } = here.value;
  if (!may('instances.read')) return <NotAllowed />;
  switch (path) {
    case '/fleet':
      return <FleetPage query={query} />;
    case '/fleet/compare':
      return <ComparePage query={query} />;
    case '/instances':
      return <Moved to={`/fleet${query}`} />;
    case '/instances/compare':
      return <Moved to={`/fleet/compare${query}`} />;
    case '/instances/new':
      return may('instances.write') ? <CreateInstancePage /> : <NotAllowed />;
    case '/instances/test':
      return may('instances.write') ? <TestPage me={me} /> : <NotAllowed />;
    default:
      return <OneInstance path={path} />;
  }
}

const ONE_INSTANCE = /^\/instances\/(inst_[0-9a-f]{16})$/;

function OneInstance({ path }: { readonly path: string }) {
  const id = ONE_INSTANCE.exec(path)?.[1];
  return id === undefined ? <NoPage /> : <InstancePage key={id} id={id} />;
}

const ONE_WEBHOOK = /^\/webhooks\/(whk_[0-9a-f]{16})$/;

/** Pages at and below `/webhooks`. */
function WebhookRoutes() {
  const { path, query } = here.value;
  if (!may('instances.read')) return <NotAllowed />;
  switch (path) {
    case '/webhooks':
      return <WebhooksPage />;
    case '/webhooks/events':
      return <EventLogPage query={query} />;
    case '/webhooks/new':
      return may('instances.write') ? <NewWebhookPage /> : <NotAllowed />;
    default: {
      const id = ONE_WEBHOOK.exec(path)?.[1];
      return id === undefined ? <NoPage /> : <EndpointPage key={id} id={id} />;
    }
  }
}

/** Page for an unknown address. */
function NoPage() {
  return (
    <Page title="Page not found">
      <p>
        This address has no page. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}

/** Page for an address that the user's role does not allow. */
function NotAllowed() {
  return (
    <Page title="Your role does not allow this page">
      <p>
        An owner of the account can give you another role. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}
