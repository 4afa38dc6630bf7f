const [api, key, count='400'] = process.argv.slice(2);
const h = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const post = async (p, b) => { const r = await fetch(api + p, { method: 'POST', headers: h, body: JSON.stringify(b) }); if (!r.ok) throw new Error(r.status + await r.text()); return (await r.json()).data; };
const teams = ['support', 'sales', 'research', 'ops'];
const ids = [];
for (let i = 0; i < Number(count); i++) ids.push((await post('/instances', { name: `Agent ${i}`, tags: { team: teams[i % 4], ...(i % 7 ? {} : { tier: 'gold' }) }, initial_config: { mode_strengths: { perception: Math.random(), order: Math.random(), assertion: Math.random() * .6, connection: Math.random() } } })).id);
const now = Date.now();
const modes = ['PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY', 'STRESS_RESPONSE'];
for (let round = 0; round < 40; round++) {
  for (let i = 0; i < ids.length; i += 500) {
    const observations = ids.slice(i, i + 500).map((instance_id, k) => ({ instance_id, mode_target: modes[(k % 5 === 0 ? 6 : Math.floor(Math.random() * 6))], signal_strength: k % 5 === 0 ? .95 : Math.random() * .8, confidence: .9, timestamp: new Date(now - (40 - round) * 60_000 - 5000).toISOString() }));
    const a = await post('/process', { observations });
    if (round === 0) console.log(JSON.stringify(a.summary));
  }
}
console.log(ids[0], ids[5]);
