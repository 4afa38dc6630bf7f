import type { Me } from '#pages/answers';
import { here } from '#pages/router';
import { may } from '#pages/session';
import { ComparePage } from '#view/compare-page';
import { CreateInstancePage } from '#view/create-instance-page';
import { InstancePage } from '#view/instance-page';
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
      return <OneInstance path={path} />;
  }
}

const ONE_INSTANCE = /^\/instances\/(inst_[0-9a-f]{16})$/;

function OneInstance({ path }: { readonly path: string }) {
  const id = ONE_INSTANCE.exec(path)?.[1];
  return id === undefined ? <NoPage /> : <InstancePage key={id} id={id} />;
}
