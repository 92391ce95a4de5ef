// Uses node-redis as its documentation shows it: node redis.js <module> <port>
import { Inbox, assert, eventually, fails, raw, run, sorted } from './cases.js';

const [module, portText] = process.argv.slice(2);
const port = Number(portText);
const { BasicClientSideCache, RESP_TYPES, createClient, createClientPool, defineScript, WatchError } = await import(module);
const major = module === 'redis5' ? 5 : 6;
const url = `redis://127.0.0.1:${port}`;

// connect makes a client that the case closes at its end. Only the address is not as the library has it by default.
async function connect(atEnd, options = {}) {
	const client = createClient({ url, ...options });
	client.on('error', () => {}); // what goes wrong shows in the commands
	await client.connect();
	atEnd(() => client.destroy());
	return client;
}

const library = `#!lua name=mylib
redis.register_function('hello', function(keys, args) return {keys[1], args[1]} end)
redis.register_function{function_name='look', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}`;

const cases = {
	async handshake(atEnd) {
		const client = await connect(atEnd, { url: `${url}/3`, name: 'the-test', clientInfoTag: 'tag' });
		assert.equal(await client.set('key', 'value'), 'OK');
		assert.equal(await client.get('key'), 'value');
		assert.equal(await client.get('missing'), null);
		const info = await client.sendCommand(['CLIENT', 'INFO']);
		assert.match(String(info), / name=the-test .* db=3 .* lib-name=node-redis\(tag\) lib-ver=\d/);
		assert.match(String(info), major === 6 ? / resp=3/ : / resp=2/);
		assert.equal((await client.clientInfo()).db, 3);
		await fails(client.sendCommand(['NOSUCH', 'x']), "ERR unknown command 'NOSUCH'");
		await fails(client.incr('key'), 'ERR value is not an integer');
		assert.equal(await client.ping(), 'PONG');
		await client.close();
		atEnd(() => client.connect()); // for destroy
	},

	async 'both protocols'(atEnd) {
		for (const RESP of [2, 3]) {
			const client = await connect(atEnd, { RESP });
			await client.flushAll();
			assert.equal(await client.mSet({ a: '1', b: '2' }), 'OK');
			assert.deepEqual(await client.mGet(['a', 'none', 'b']), ['1', null, '2']);
			assert.equal(await client.hSet('hash', { f: 'x', g: 'y' }), 2);
			assert.deepEqual({ ...(await client.hGetAll('hash')) }, { f: 'x', g: 'y' });
			assert.equal(await client.zAdd('scores', [{ score: 1.5, value: 'one' }, { score: Infinity, value: 'most' }]), 2);
			assert.deepEqual(await client.zRangeWithScores('scores', 0, -1), [{ value: 'one', score: 1.5 }, { value: 'most', score: Infinity }]);
			assert.equal(await client.zScore('scores', 'one'), 1.5);
			assert.deepEqual(await client.zPopMin('scores'), { value: 'one', score: 1.5 });
			await client.geoAdd('places', { longitude: 13.361389, latitude: 38.115556, member: 'Palermo' });
			assert.match(String((await client.geoPos('places', 'Palermo'))[0].longitude), /^13\.361/);
			assert.deepEqual(await client.geoSearch('places', { longitude: 15, latitude: 37 }, { radius: 200, unit: 'km' }), ['Palermo']);
			await client.rPush('list', ['1', '2', '3']);
			assert.deepEqual(await client.lRange('list', 0, -1), ['1', '2', '3']);
			await client.sAdd('set', ['x', 'y']);
			assert.deepEqual(sorted(await client.sMembers('set')), ['x', 'y']);
			assert.equal(await client.set('once', 'v', { EX: 60, NX: true }), 'OK');
			assert.equal(await client.set('once', 'v', { EX: 60, NX: true }), null);
			const bytes = Buffer.from([0, 255, 13, 10, 36]);
			await client.set('bytes', bytes);
			assert.deepEqual(await client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get('bytes'), bytes);
			assert.equal((await client.configGet('maxclients')).maxclients, '10000');
			assert.equal(await client.pfAdd('hll', ['a', 'b']), 1);
			assert.equal(await client.type('hll'), 'string');
			assert.equal(typeof (await client.memoryUsage('list')), 'number');
		}
	},

	async pipelines(atEnd) {
		const client = await connect(atEnd);
		await Promise.all(Array.from({ length: 2000 }, (_, i) => client.set(`k${i}`, String(i))));
		const got = await Promise.all(Array.from({ length: 2000 }, (_, i) => client.get(`k${i}`)));
		assert.deepEqual(got, Array.from({ length: 2000 }, (_, i) => String(i)));
		assert.deepEqual(await client.multi().set('a', '1').incr('a').get('a').execAsPipeline(), ['OK', 2, '2']);
	},

	async transactions(atEnd) {
		const client = await connect(atEnd);
		const other = await connect(atEnd);
		assert.deepEqual(await client.multi().set('n', '1').incr('n').get('n').exec(), ['OK', 2, '2']);
		await client.watch('n');
		await other.set('n', 'changed');
		await assert.rejects(client.multi().set('n', 'lost').exec(), WatchError);
		assert.equal(await client.get('n'), 'changed');
		const replies = await client.multi().set('n', 'x').incr('n').exec().catch((error) => error.replies);
		assert.match(replies[1].message, /^ERR value is not an integer/);
		const pool = createClientPool({ url });
		pool.on('error', () => {});
		await pool.connect();
		atEnd(() => pool.destroy());
		await pool.set('n', '0');
		await Promise.all(Array.from({ length: 100 }, () => pool.incr('n')));
		assert.equal(await pool.get('n'), '100');
	},

	async 'pub/sub'(atEnd) {
		const client = await connect(atEnd);
		const sub = await connect(atEnd);
		const messages = new Inbox();
		await sub.subscribe(['news', 'sport'], messages.put);
		await sub.pSubscribe('w*', messages.put);
		for (let i = 0; i < 100; i++) {
			assert.equal(await client.publish('news', String(i)), 1);
			assert.deepEqual(await messages.next(), [String(i), 'news']);
		}
		await client.publish('weather', 'rain');
		assert.deepEqual(await messages.next(), ['rain', 'weather']);
		await sub.unsubscribe('news', messages.put);
		await client.publish('news', 'nobody');
		const bytes = new Inbox();
		await sub.subscribe('sport', bytes.put, true);
		await client.publish('sport', 'goal');
		assert.deepEqual(await messages.next(), ['goal', 'sport']);
		assert.deepEqual(await bytes.next(), [Buffer.from('goal'), Buffer.from('sport')]);
		assert.deepEqual(await client.pubSubChannels(), ['sport']);
		assert.deepEqual({ ...(await client.pubSubNumSub(['sport', 'none'])) }, { sport: 1, none: 0 });
		if (major === 6) { // RESP3: the same connection can be asked for other things
			assert.equal(await sub.set('k', 'v'), 'OK');
		}
		await sub.pUnsubscribe('w*'); // first: the end of all channels is the end of a RESP2 subscriber for this library
		await sub.unsubscribe();
		assert.equal(String(await sub.set('k', 'v')), 'OK');
	},

	async 'sharded pub/sub'(atEnd) {
		const client = await connect(atEnd);
		const sub = await connect(atEnd);
		const messages = new Inbox();
		await sub.sSubscribe('shard', messages.put);
		assert.equal(await client.sPublish('shard', 'text'), 1);
		assert.deepEqual(await messages.next(), ['text', 'shard']);
		assert.deepEqual(await client.pubSubShardChannels(), ['shard']);
		await sub.sUnsubscribe('shard');
		assert.equal(await client.sPublish('shard', 'text'), 0);
	},

	async 'keyspace notifications'(atEnd) {
		const client = await connect(atEnd);
		const sub = await connect(atEnd);
		atEnd(() => raw(port, ['CONFIG', 'SET', 'notify-keyspace-events', '']));
		await client.configSet('notify-keyspace-events', 'Ex');
		const messages = new Inbox();
		await sub.pSubscribe('__keyevent@*__:expired', messages.put);
		await client.set('k', 'v', { PX: 1 });
		assert.deepEqual(await messages.next(), ['k', '__keyevent@0__:expired']);
	},

	async scripts(atEnd) {
		const addTwice = defineScript({
			NUMBER_OF_KEYS: 1,
			SCRIPT: "redis.call('INCRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[1], ARGV[1])",
			parseCommand(parser, key, by) {
				parser.pushKey(key);
				parser.push(String(by));
			},
			transformReply: undefined,
		});
		const client = await connect(atEnd, { scripts: { addTwice } });
		await client.scriptFlush();
		assert.equal(await client.addTwice('n', 5), 10); // NOSCRIPT, then EVAL
		assert.equal(await client.addTwice('n', 5), 20);
		await client.scriptFlush();
		assert.deepEqual(await Promise.all([client.addTwice('n', 5), client.addTwice('n', 5)]), [30, 40]);
		assert.deepEqual(await client.multi().addTwice('n', 5).get('n').exec(), [50, '50']);
		assert.deepEqual(await client.eval('return {KEYS[1], ARGV[1], 3.7, true, false}', { keys: ['k'], arguments: ['a'] }), ['k', 'a', 3, 1, null]);
		const sha = await client.scriptLoad('return #KEYS');
		assert.deepEqual(await client.scriptExists([sha, 'f'.repeat(40)]), [1, 0]);
		assert.equal(await client.evalSha(sha, { keys: ['a', 'b'] }), 2);
		assert.equal(await client.evalRo("return redis.call('GET', KEYS[1])", { keys: ['n'] }), '50');
		await fails(client.evalRo("return redis.call('DEL', KEYS[1])", { keys: ['n'] }), 'ERR Write commands are not allowed from read-only scripts');
		await fails(client.evalSha('f'.repeat(40)), 'NOSCRIPT No matching script');
	},

	async functions(atEnd) {
		const functions = {
			mylib: {
				hello: {
					NUMBER_OF_KEYS: 1,
					parseCommand(parser, key, argument) {
						parser.pushKey(key);
						parser.push(argument);
					},
					transformReply: undefined,
				},
			},
		};
		const client = await connect(atEnd, { functions });
		atEnd(() => client.functionFlush());
		assert.equal(await client.functionLoad(library, { REPLACE: true }), 'mylib');
		assert.deepEqual(await client.mylib.hello('k', 'a'), ['k', 'a']);
		await client.set('k', 'seen');
		assert.equal(await client.fCallRo('look', { keys: ['k'] }), 'seen');
		await fails(client.fCall('nosuch'), 'ERR Function not found');
		const [listed] = await client.functionList({ LIBRARYNAME: 'my*' });
		assert.equal(listed.library_name, 'mylib');
		assert.deepEqual(sorted(listed.functions.map((f) => f.name)), ['hello', 'look']);
		const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
		const dump = await binary.functionDump();
		assert.equal(await client.functionDelete('mylib'), 'OK');
		assert.equal(await client.functionRestore(dump), 'OK');
		assert.deepEqual(await client.mylib.hello('k', 'b'), ['k', 'b']);
		assert.equal((await client.functionStats()).running_script, null);
	},

	async 'users of ACL'(atEnd) {
		const client = await connect(atEnd);
		atEnd(() => raw(port, ['ACL', 'DELUSER', 'alice']));
		await client.aclSetUser('alice', ['on', '>secret', '~app:*', '&app:*', '+@read', '+set', '+subscribe', '+acl|whoami']);
		const alice = await connect(atEnd, { username: 'alice', password: 'secret' });
		assert.equal(await alice.aclWhoAmI(), 'alice');
		assert.equal(await alice.set('app:k', 'v'), 'OK');
		assert.equal(await alice.get('app:k'), 'v');
		await fails(alice.get('other'), 'NOPERM');
		await fails(alice.del('app:k'), 'NOPERM');
		await fails(alice.multi().del('app:k').exec(), 'NOPERM');
		await fails(alice.subscribe('other', () => {}), 'NOPERM');
		const user = await client.aclGetUser('alice');
		assert(user.flags.includes('on'));
		assert.equal(user.keys, '~app:*');
		assert.equal((await client.aclLog())[0].username, 'alice');
		assert.deepEqual(sorted(await client.aclUsers()), ['alice', 'default']);
		const stranger = createClient({ url, username: 'alice', password: 'wrong', socket: { reconnectStrategy: false } });
		stranger.on('error', () => {});
		await fails(stranger.connect(), 'WRONGPASS');
	},

	async 'client-side caching'(atEnd) {
		const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 0, evictPolicy: 'LRU' });
		const client = await connect(atEnd, { RESP: 3, clientSideCache: cache });
		const writer = await connect(atEnd);
		assert.match(String(await client.sendCommand(['CLIENT', 'INFO'])), / flags=t /);
		await writer.set('k', '1');
		for (let i = 2; i < 20; i++) {
			const before = cache.stats();
			assert.equal(await client.get('k'), String(i - 1));
			assert.equal(await client.get('k'), String(i - 1));
			assert.equal(cache.stats().hitCount, before.hitCount + 1);
			assert.equal(cache.stats().missCount, before.missCount + 1);
			const invalidated = new Promise((resolve) => cache.once('invalidate', resolve));
			await writer.set('k', String(i));
			assert.equal(String(await invalidated), 'k');
		}
		await writer.hSet('h', { f: 'x' });
		assert.deepEqual({ ...(await client.hGetAll('h')) }, { f: 'x' });
		const flushed = new Promise((resolve) => cache.once('invalidate', resolve));
		await writer.flushAll();
		assert.equal(await flushed, null);
		assert.deepEqual({ ...(await client.hGetAll('h')) }, {});
		await writer.set('short', 'v', { PX: 50 });
		const expired = new Promise((resolve) => cache.once('invalidate', resolve));
		if ((await client.get('short')) !== null) {
			assert.equal(String(await expired), 'short');
			assert.equal(await client.get('short'), null);
		}
	},

	async iterators(atEnd) {
		const client = await connect(atEnd);
		const names = Array.from({ length: 500 }, (_, i) => `key:${i}`);
		await client.mSet(names.map((name) => [name, 'v']));
		await client.sAdd('set', names);
		await client.hSet('hash', Object.fromEntries(names.map((name) => [name, 'v'])));
		await client.zAdd('zset', names.map((value, score) => ({ score, value })));
		const all = async (iterator) => {
			const found = [];
			for await (const part of iterator) {
				found.push(...part);
			}
			return found;
		};
		assert.deepEqual(sorted(new Set(await all(client.scanIterator({ MATCH: 'key:*', COUNT: 20, TYPE: 'string' })))), sorted(names));
		assert.deepEqual(sorted(new Set(await all(client.sScanIterator('set', { COUNT: 20 })))), sorted(names));
		assert.equal(new Set((await all(client.hScanIterator('hash'))).map((e) => e.field)).size, 500);
		assert.equal(new Set((await all(client.zScanIterator('zset'))).map((e) => e.score)).size, 500);
	},

	async blocking(atEnd) {
		const client = await connect(atEnd);
		const waiting = await connect(atEnd);
		const popped = waiting.blPop(['queue', 'other'], 0);
		await eventually('it waits', async () => /blocked_clients:1/.test(await client.info('clients')));
		await client.rPush('other', 'job');
		assert.deepEqual({ ...(await popped) }, { key: 'other', element: 'job' });
		assert.equal(await waiting.blPop('queue', 0.01), null);
		const moved = waiting.blMove('from', 'to', 'LEFT', 'RIGHT', 0);
		await client.rPush('from', 'x');
		assert.equal(await moved, 'x');
		await client.zAdd('scores', { score: 7, value: 'm' });
		assert.deepEqual({ ...(await waiting.bzPopMin('scores', 0)) }, { key: 'scores', value: 'm', score: 7 });
	},

	async streams(atEnd) {
		const client = await connect(atEnd);
		const id = await client.xAdd('stream', '*', { f: 'v' });
		assert.match(id, /^\d+-0$/);
		const plain = (value) => JSON.parse(JSON.stringify(value));
		const [read] = plain(await client.xRead({ key: 'stream', id: '0' }, { COUNT: 5 }));
		assert.deepEqual(read.messages, [{ id, message: { f: 'v' } }].map((m) => ({ ...read.messages[0], ...m })));
		await client.xGroupCreate('stream', 'group', '0');
		const [fresh] = plain(await client.xReadGroup('group', 'me', { key: 'stream', id: '>' }));
		assert.equal(fresh.name, 'stream');
		assert.equal(fresh.messages[0].id, id);
		const claimed = await client.xAutoClaim('stream', 'group', 'you', 0, '0');
		assert.equal(claimed.nextId, '0-0');
		assert.deepEqual(claimed.messages.map((m) => m.id), [id]);
		assert.equal((await client.xInfoGroups('stream'))[0].pending, 1);
		assert.equal(await client.xAck('stream', 'group', id), 1);
		const waiting = await connect(atEnd);
		const later = waiting.xRead({ key: 'stream', id: '$' }, { BLOCK: 0 });
		await eventually('it waits', async () => /blocked_clients:1/.test(await client.info('clients')));
		const second = await client.xAdd('stream', '*', { f: 'w' });
		assert.equal((await later)[0].messages[0].id, second);
	},

	async reconnecting(atEnd) {
		const client = await connect(atEnd);
		const sub = await connect(atEnd);
		const messages = new Inbox();
		await sub.subscribe('ch', messages.put);
		const again = new Inbox();
		client.on('ready', again.put);
		sub.on('ready', again.put);
		await raw(port, ['CLIENT', 'KILL', 'TYPE', 'normal'], ['CLIENT', 'KILL', 'TYPE', 'pubsub']);
		await again.next();
		await again.next();
		assert.equal(await client.set('k', 'v'), 'OK');
		await eventually('it is subscribed again', async () => (await client.publish('ch', 'back')) === 1);
		assert.deepEqual(await messages.next(), ['back', 'ch']);
	},

	async monitor(atEnd) {
		const client = await connect(atEnd);
		const monitor = await connect(atEnd);
		const seen = new Inbox();
		await monitor.monitor(seen.put);
		await client.set('k', 'v');
		for (;;) {
			const [line] = await seen.next();
			if (/"SET"/.test(line)) {
				assert.match(String(line), /^\d{10}\.\d{6} \[0 127\.0\.0\.1:\d+\] "SET" "k" "v"$/);
				return;
			}
		}
	},
};

await run(port, cases);
