import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pointsText, RADAR_SIZE, radarCorners, radarPoint } from '#pages/parts/radar-shape';

const shape = suite('the radar chart of modes');

const middle = radarPoint(0, 7, 0);
const distanceOf = ({ x, y }: { x: number; y: number }) => Math.hypot(x - middle.x, y - middle.y);

shape('has its first axis pointing up, and the others clockwise', () => {
  const [first, second, , , , , last] = Array.from({ length: 7 }, (_, at) => radarPoint(at, 7, 1));
  assert.equal(first, { x: middle.x, y: middle.y - RADAR_SIZE.radius });
  assert.ok(second !== undefined && last !== undefined);
  assert.ok(second.x > middle.x && last.x < middle.x, `${second.x} ${last.x}`);
  assert.is(second.y, last.y, 'both sides are symmetric');
});

shape('draws each value at its share of the radius, and missing values in the middle', () => {
  const corners = radarCorners([0.2, 0.4, 0.6, 0.8, 1], 7);
  const distances = corners.map((corner) =>
    Math.round((100 * distanceOf(corner)) / RADAR_SIZE.radius),
  );
  assert.equal(distances, [20, 40, 60, 80, 100, 0, 0]);
});

shape('keeps set-points outside of 0 to 1 within the circle', () => {
  const [below, above] = radarCorners([-0.5, 1.5, 0], 3);
  assert.ok(below !== undefined && above !== undefined);
  assert.equal([distanceOf(below), Math.round(distanceOf(above))], [0, RADAR_SIZE.radius]);
});

shape('stays inside the picture, with space for names', () => {
  for (let at = 0; at < 7; at += 1) {
    const { x, y } = radarPoint(at, 7, 1.12);
    assert.ok(x > 60 && x < RADAR_SIZE.width - 60 && y > 10 && y < RADAR_SIZE.height - 10, `${at}`);
  }
});

shape('is written as points of a polygon', () => {
  assert.is(
    pointsText([
      { x: 1, y: 2.5 },
      { x: -3, y: 0 },
    ]),
    '1,2.5 -3,0',
  );
});

shape.run();
