import type { Me } from '#pages/answers';
import { here } from '#pages/router';
import { may } from '#pages/session';
import { ComparePage } from '#view/compare-page';
import { CreateInstancePage } from '#view/create-instance-page';
import { InstancesPage } from '#view/instances-page';
import { NoPage, NotAllowed } from '#view/no-page';
import { TestPage } from '#view/test-page';

/** The pages at `/instances` and below it. */
export function InstanceRoutes({ me }: { readonly me: Me }) {
  const { path, query } = here.value;
  if (!may('instances.read')) return <NotAllowed />;
  switch (path) {
    case '/instances':
      return <InstancesPage query={query} />;
    case '/instances/compare':
      return <ComparePage query={query} />;
    case '/instances/new':
      return may('instances.write') ? <CreateInstancePage /> : <NotAllowed />;
    case '/instances/test':
      return may('instances.write') ? <TestPage me={me} /> : <NotAllowed />;
    default:
      return <NoPage />;
  }
}
