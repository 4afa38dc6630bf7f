import type { Me } from '#pages/answers';
import { entryLink, here } from '#pages/router';
import { may, refreshMe, session } from '#pages/session';
import { AuditPage } from '#view/audit-page';
import { BillingPage } from '#view/billing-page';
import { Doorway } from '#view/doorway';
import { EntryPage } from '#view/entry-page';
import { InstanceRoutes } from '#view/instance-routes';
import { KeysPage } from '#view/keys-page';
import { Layout } from '#view/layout';
import { MembersPage } from '#view/members-page';
import { NoPage, NotAllowed } from '#view/no-page';
import { sentence } from '#view/notice';
import { OverviewPage } from '#view/overview-page';
import { SecondFactorPage } from '#view/second-factor-page';
import { SecurityPage } from '#view/security-page';
import { SignInPage } from '#view/sign-in-page';
import { UsagePage } from '#view/usage-page';

/** The console: what is shown follows from who is at the browser, and then from the address. */
export function App() {
  const link = entryLink.value;
  if (link !== undefined) return <EntryPage link={link} />;
  const now = session.value;
  switch (now.kind) {
    case 'unknown':
      return (
        <main class="doorway" aria-busy="true">
          <p class="quiet" role="status">
            Loading …
          </p>
        </main>
      );
    case 'unreachable':
      return (
        <Doorway title="The console does not answer">
          <p role="alert">{sentence(now.refusal.message)}</p>
          <button type="button" class="is-main" onClick={() => void refreshMe()}>
            Try again
          </button>
        </Doorway>
      );
    case 'signed_out':
      return <SignInPage hasEnded={now.hasEnded} />;
    case 'second_factor':
      return <SecondFactorPage />;
    case 'signed_in':
      // Another account is another console: nothing of the one before stays.
      return (
        <Layout key={now.me.account.id} me={now.me}>
          <Routed me={now.me} path={here.value.path} />
        </Layout>
      );
  }
}

function Routed({ me, path }: { readonly me: Me; readonly path: string }) {
  if (path === '/instances' || path.startsWith('/instances/')) return <InstanceRoutes me={me} />;
  switch (path) {
    case '/':
      return <OverviewPage />;
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
