// Uses ioredis as its documentation shows it: node ioredis.js <module> <port>
import { Inbox, assert, eventually, fails, raw, run, sorted } from './cases.js';

const [module, portText] = process.argv.slice(2);
const port = Number(portText);
const { default: Redis } = await import(module);
const major = module === 'ioredis5' ? 5 : 6;

// connect makes a client that the case closes at its end. Only the port is not as the library has it by default.
function connect(atEnd, options = {}) {
	const redis = new Redis({ port, ...options });
	redis.on('error', () => {}); // what goes wrong shows in the commands
	atEnd(() => redis.disconnect());
	return redis;
}

const cases = {
	async handshake(atEnd) {
		const redis = connect(atEnd, { db: 3, connectionName: 'the-test' });
		assert.equal(await redis.set('key', 'value'), 'OK');
		assert.equal(await redis.get('key'), 'value');
		assert.equal(await redis.get('missing'), null);
		const info = String(await redis.client('INFO'));
		assert.match(info, / name=the-test .* db=3 .* lib-name=ioredis/);
		assert.match(info, major === 6 ? / resp=3/ : / resp=2/);
		assert.equal(redis.status, 'ready');
		await fails(redis.call('NOSUCH', 'x'), "ERR unknown command 'NOSUCH'");
		await fails(redis.incr('key'), 'ERR value is not an integer');
		assert.equal(await redis.quit(), 'OK');
	},

	async 'data types'(atEnd) {
		const redis = connect(atEnd);
		assert.equal(await redis.mset({ a: '1', b: '2' }), 'OK');
		assert.deepEqual(await redis.mget('a', 'none', 'b'), ['1', null, '2']);
		const bytes = Buffer.from([0, 255, 13, 10, 36]);
		await redis.set('bytes', bytes);
		assert.deepEqual(await redis.getBuffer('bytes'), bytes);
		assert.equal(await redis.hset('hash', { f: 'x', g: 'y' }), 2);
		assert.deepEqual({ ...(await redis.hgetall('hash')) }, { f: 'x', g: 'y' });
		assert.deepEqual({ ...(await redis.hgetall('none')) }, {});
		await redis.zadd('scores', 1.5, 'one', 'inf', 'most');
		assert.deepEqual(await redis.zrange('scores', 0, -1, 'WITHSCORES'), ['one', '1.5', 'most', 'inf']);
		assert.equal(await redis.zscore('scores', 'one'), '1.5');
		assert.equal(await redis.incrbyfloat('float', 0.1), '0.1');
		await redis.geoadd('places', 13.361389, 38.115556, 'Palermo');
		assert.match((await redis.geopos('places', 'Palermo'))[0][0], /^13\.361/);
		await redis.rpush('list', 1, 2, 3);
		assert.deepEqual(await redis.lrange('list', 0, -1), ['1', '2', '3']);
		await redis.sadd('set', 'x', 'y');
		assert.deepEqual(sorted(await redis.smembers('set')), ['x', 'y']);
		assert.equal(await redis.expire('set', 60), 1);
		assert.equal(await redis.set('once', 1, 'EX', 60, 'NX'), 'OK');
		assert.equal(await redis.set('once', 2, 'EX', 60, 'NX'), null);
		const prefixed = connect(atEnd, { keyPrefix: 'p:' });
		await prefixed.set('k', 'v');
		assert.equal(await redis.get('p:k'), 'v');
		assert.match(await redis.info('server'), /redis_version:/);
	},

	async pipelines(atEnd) {
		const redis = connect(atEnd);
		const pipeline = redis.pipeline();
		for (let i = 0; i < 2000; i++) {
			pipeline.set(`k${i}`, i).get(`k${i}`);
		}
		const replies = await pipeline.exec();
		replies.forEach(([error, reply], i) => {
			assert.equal(error, null);
			assert.equal(reply, i % 2 === 0 ? 'OK' : String((i - 1) / 2));
		});
		const mixed = await redis.pipeline([['set', 'text', 'x'], ['incr', 'text'], ['get', 'text']]).exec();
		assert.equal(mixed[1][0].message, 'ERR value is not an integer or out of range');
		assert.equal(mixed[2][1], 'x');
		const auto = connect(atEnd, { enableAutoPipelining: true });
		const got = await Promise.all(Array.from({ length: 500 }, (_, i) => auto.get(`k${i}`)));
		assert.deepEqual(got, Array.from({ length: 500 }, (_, i) => String(i)));
	},

	async transactions(atEnd) {
		const redis = connect(atEnd);
		const other = connect(atEnd);
		assert.deepEqual(await redis.multi().set('n', 1).incr('n').hset('h', 'f', 'v').hgetall('h').exec(),
			[[null, 'OK'], [null, 2], [null, 1], [null, (await redis.hgetall('h'))]]);
		await redis.watch('n');
		await other.set('n', 'changed');
		assert.equal(await redis.multi().set('n', 'lost').exec(), null);
		assert.equal(await redis.get('n'), 'changed');
		await redis.multi({ pipeline: false });
		assert.equal(await redis.set('n', 5), 'QUEUED');
		assert.deepEqual(await redis.exec(), [[null, 'OK']]);
		let aborted;
		await redis.multi().set('n').exec().catch((error) => (aborted = error));
		assert.match(aborted.message, /^EXECABORT /);
	},

	async 'pub/sub'(atEnd) {
		const redis = connect(atEnd);
		const sub = connect(atEnd);
		const messages = new Inbox();
		sub.on('message', (channel, text) => messages.put('message', channel, text));
		sub.on('pmessage', (pattern, channel, text) => messages.put('pmessage', pattern, channel, text));
		assert.equal(await sub.subscribe('news', 'sport'), 2);
		assert.equal(await sub.psubscribe('w*'), 3);
		for (let i = 0; i < 100; i++) {
			assert.equal(await redis.publish('news', i), 1);
			assert.deepEqual(await messages.next(), ['message', 'news', String(i)]);
		}
		await redis.publish('weather', 'rain');
		assert.deepEqual(await messages.next(), ['pmessage', 'w*', 'weather', 'rain']);
		assert.equal(await sub.unsubscribe('news'), 2);
		await redis.publish('news', 'nobody');
		await redis.publish('sport', 'goal');
		assert.deepEqual(await messages.next(), ['message', 'sport', 'goal']);
		assert.deepEqual(await redis.pubsub('CHANNELS'), ['sport']);
		if (major === 6) { // RESP3: the same connection can be asked for other things
			assert.equal(await sub.set('k', 'v'), 'OK');
		} else {
			await fails(sub.set('k', 'v'), 'Connection in subscriber mode');
		}
		assert.equal(await sub.punsubscribe('w*'), 1);
		assert.equal(await sub.unsubscribe(), 0);
		assert.equal(await sub.set('k', 'v'), 'OK');
	},

	async 'sharded pub/sub'(atEnd) {
		const redis = connect(atEnd);
		const sub = connect(atEnd);
		const messages = new Inbox();
		sub.on('smessage', messages.put);
		assert.equal(await sub.ssubscribe('shard'), 1);
		assert.equal(await redis.spublish('shard', 'text'), 1);
		assert.deepEqual(await messages.next(), ['shard', 'text']);
		assert.equal(await sub.sunsubscribe('shard'), 0);
	},

	async 'keyspace notifications'(atEnd) {
		const redis = connect(atEnd);
		const sub = connect(atEnd);
		atEnd(() => redis.config('SET', 'notify-keyspace-events', ''));
		await redis.config('SET', 'notify-keyspace-events', 'KEA');
		const messages = new Inbox();
		sub.on('pmessage', (pattern, channel, text) => messages.put(channel, text));
		await sub.psubscribe('__key*__:*');
		await redis.lpush('list', 1);
		assert.deepEqual(await messages.next(), ['__keyspace@0__:list', 'lpush']);
		assert.deepEqual(await messages.next(), ['__keyevent@0__:lpush', 'list']);
		await redis.pexpire('list', 1);
		assert.deepEqual(await messages.next(), ['__keyspace@0__:list', 'expire']);
		assert.deepEqual(await messages.next(), ['__keyevent@0__:expire', 'list']);
		assert.deepEqual(await messages.next(), ['__keyspace@0__:list', 'expired']);
		assert.deepEqual(await messages.next(), ['__keyevent@0__:expired', 'list']);
	},

	async scripts(atEnd) {
		const redis = connect(atEnd);
		assert.deepEqual(await redis.eval('return {KEYS[1], ARGV[1], 3.7, true, false}', 1, 'k', 'a'), ['k', 'a', 3, 1, null]);
		redis.defineCommand('addTwice', {
			numberOfKeys: 1,
			lua: "redis.call('INCRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[1], ARGV[1])",
		});
		assert.equal(await redis.addTwice('n', 5), 10);
		assert.equal(await redis.addTwice('n', 5), 20); // by EVALSHA now
		assert.equal(await redis.script('FLUSH'), 'OK');
		assert.equal(await redis.addTwice('n', 5), 30); // NOSCRIPT, then EVAL
		const replies = await redis.pipeline().addTwice('n', 1).addTwice('n', 1).exec();
		assert.deepEqual(replies, [[null, 32], [null, 34]]);
		assert.deepEqual(await redis.multi().addTwice('n', 1).exec(), [[null, 36]]);
		redis.defineCommand('bytes', { lua: 'return ARGV[1]' });
		assert.deepEqual(await redis.bytesBuffer(0, Buffer.from([0, 255])), Buffer.from([0, 255]));
		const sha = await redis.script('LOAD', 'return #KEYS');
		assert.deepEqual(await redis.script('EXISTS', sha, 'f'.repeat(40)), [1, 0]);
		assert.equal(await redis.evalsha(sha, 2, 'a', 'b'), 2);
		await fails(redis.evalsha('f'.repeat(40), 0), 'NOSCRIPT No matching script');
		await fails(redis.eval("return redis.error_reply('MINE is it')", 0), 'MINE is it');
		await fails(redis.eval('return nonsense', 0), 'ERR user_script:1: Script attempted to access nonexistent global variable');
		const scripted = connect(atEnd, { scripts: { double: { lua: 'return ARGV[1] * 2', numberOfKeys: 0 } } });
		assert.equal(await scripted.double(21), 42);
	},

	async functions(atEnd) {
		const redis = connect(atEnd);
		atEnd(() => redis.function('FLUSH'));
		const library = "#!lua name=mylib\nredis.register_function('hello', function(keys, args) return {keys[1], args[1]} end)\n" +
			"redis.register_function{function_name='look', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}";
		assert.equal(await redis.function('LOAD', 'REPLACE', library), 'mylib');
		assert.deepEqual(await redis.fcall('hello', 1, 'k', 'a'), ['k', 'a']);
		await redis.set('k', 'seen');
		assert.equal(await redis.fcall_ro('look', 1, 'k'), 'seen');
		await fails(redis.fcall('nosuch', 0), 'ERR Function not found');
		const dump = await redis.functionBuffer('DUMP');
		await redis.function('DELETE', 'mylib');
		assert.equal(await redis.function('RESTORE', dump), 'OK');
		assert.deepEqual(await redis.fcall('hello', 1, 'k', 'b'), ['k', 'b']);
	},

	async 'users of ACL'(atEnd) {
		const redis = connect(atEnd);
		atEnd(() => redis.acl('DELUSER', 'alice'));
		await redis.acl('SETUSER', 'alice', 'on', '>secret', '~app:*', '&app:*', '+@read', '+set', '+subscribe', '+info', '+eval');
		const alice = connect(atEnd, { username: 'alice', password: 'secret' });
		assert.equal(await alice.set('app:k', 'v'), 'OK');
		assert.equal(await alice.get('app:k'), 'v');
		await fails(alice.get('other'), 'NOPERM');
		await fails(alice.del('app:k'), 'NOPERM');
		await fails(alice.eval("return redis.call('DEL', 'app:k')", 0), 'ERR');
		await fails(alice.subscribe('other'), 'NOPERM');
		const stranger = new Redis({ port, username: 'alice', password: 'wrong', retryStrategy: null });
		const complaints = new Inbox();
		stranger.on('error', complaints.put);
		atEnd(() => stranger.disconnect());
		assert.match((await complaints.next())[0].message, /^WRONGPASS /);
	},

	async 'client-side caching by redirection'(atEnd) {
		const sub = connect(atEnd, { protocol: 2 });
		const redis = connect(atEnd, { protocol: 2 });
		const writer = connect(atEnd);
		const id = await sub.client('ID');
		const invalidated = new Inbox();
		sub.on('message', (channel, keys) => invalidated.put(channel, keys));
		await sub.subscribe('__redis__:invalidate');
		assert.equal(await redis.client('TRACKING', 'ON', 'REDIRECT', id), 'OK');
		await redis.get('watched');
		await writer.set('watched', 1);
		assert.deepEqual(sorted(await invalidated.next()), ['__redis__:invalidate', 'watched']);
	},

	async iterators(atEnd) {
		const redis = connect(atEnd);
		const names = Array.from({ length: 500 }, (_, i) => `key:${i}`);
		await redis.mset(...names.flatMap((name) => [name, 'v']));
		await redis.sadd('set', ...names);
		await redis.hset('hash', ...names.flatMap((name) => [name, 'v']));
		await redis.zadd('zset', ...names.flatMap((name, i) => [i, name]));
		const all = async (stream) => {
			const found = [];
			for await (const part of stream) {
				found.push(...part);
			}
			return found;
		};
		assert.deepEqual(sorted(new Set(await all(redis.scanStream({ match: 'key:*', count: 20 })))), sorted(names));
		assert.deepEqual(sorted(new Set(await all(redis.sscanStream('set', { count: 20 })))), sorted(names));
		assert.equal(new Set(await all(redis.hscanStream('hash'))).size, 501);
		assert.equal((await all(redis.zscanStream('zset', { match: 'key:1*' }))).length % 2, 0);
	},

	async blocking(atEnd) {
		const redis = connect(atEnd);
		const waiting = connect(atEnd);
		const popped = waiting.blpop('queue', 'other', 0);
		await eventually('it waits', async () => /blocked_clients:1/.test(await redis.info('clients')));
		await redis.rpush('other', 'job');
		assert.deepEqual(await popped, ['other', 'job']);
		assert.equal(await waiting.blpop('queue', 0.01), null);
		const moved = waiting.blmove('from', 'to', 'LEFT', 'RIGHT', 0);
		await redis.rpush('from', 'x');
		assert.equal(await moved, 'x');
		await redis.zadd('scores', 7, 'm');
		assert.deepEqual(await waiting.bzpopmin('scores', 0), ['scores', 'm', '7']);
	},

	async streams(atEnd) {
		const redis = connect(atEnd);
		const id = await redis.xadd('stream', '*', 'f', 'v');
		assert.match(id, /^\d+-0$/);
		assert.deepEqual(await redis.xread('COUNT', 5, 'STREAMS', 'stream', '0'), [['stream', [[id, ['f', 'v']]]]]);
		await redis.xgroup('CREATE', 'stream', 'group', '0');
		assert.deepEqual(await redis.xreadgroup('GROUP', 'group', 'me', 'STREAMS', 'stream', '>'), [['stream', [[id, ['f', 'v']]]]]);
		assert.deepEqual(await redis.xautoclaim('stream', 'group', 'you', 0, '0'), ['0-0', [[id, ['f', 'v']]], []]);
		assert.equal(await redis.xack('stream', 'group', id), 1);
		const waiting = connect(atEnd);
		const read = waiting.xread('BLOCK', 0, 'STREAMS', 'stream', '$');
		await eventually('it waits', async () => /blocked_clients:1/.test(await redis.info('clients')));
		const second = await redis.xadd('stream', '*', 'f', 'w');
		assert.deepEqual(await read, [['stream', [[second, ['f', 'w']]]]]);
	},

	async reconnecting(atEnd) {
		const redis = connect(atEnd);
		const sub = connect(atEnd);
		const messages = new Inbox();
		sub.on('message', messages.put);
		await sub.subscribe('ch');
		await redis.set('k', 'v');
		const again = new Inbox();
		redis.on('ready', again.put);
		sub.on('ready', again.put);
		await raw(port, ['CLIENT', 'KILL', 'TYPE', 'normal'], ['CLIENT', 'KILL', 'TYPE', 'pubsub']);
		assert.equal(await redis.get('k'), 'v'); // was queued, or sent again
		await again.next();
		await again.next();
		await eventually('it is subscribed again', async () => (await redis.publish('ch', 'back')) === 1);
		assert.deepEqual(await messages.next(), ['ch', 'back']);
	},

	async monitor(atEnd) {
		const redis = connect(atEnd);
		const monitor = await redis.monitor();
		atEnd(() => monitor.disconnect());
		const seen = new Inbox();
		monitor.on('monitor', (time, args) => seen.put(args));
		await redis.set('k', 'v "quoted"');
		for (;;) {
			const [args] = await seen.next();
			if (args[0] === 'set') {
				assert.deepEqual(args, ['set', 'k', 'v "quoted"']);
				return;
			}
		}
	},
};

await run(port, cases);
