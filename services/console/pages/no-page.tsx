import { Link } from '#view/link';
import { Page } from '#view/page';

/** What is at an address at which nothing is. */
export function NoPage() {
  return (
    <Page title="There is no such page">
      <p>
        Nothing is at this address. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}

/** What is at an address that the role of who is signed in does not open. */
export function NotAllowed() {
  return (
    <Page title="Your role does not show this">
      <p>
        An owner of the account can give you another role. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}
