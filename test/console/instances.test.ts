import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openConsole } from '#test/console/console-fixture';

const NEW = { name: 'Iris' };

const smoke = suite('instances in the console');
smoke('work', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data, headers } = await owner.expect(201, 'POST', '/instances', NEW);
  console.log(data['id'], headers);
  console.log(await owner.expect(200, 'GET', '/instances'));
  console.log(await owner.send('GET', '/personas'));
});
smoke.run();
