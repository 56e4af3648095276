// Makes versions of Node.js use a proxy that do not read the variables themselves.

/// A script that Node.js runs before a program's own.
enum NodeProxy {
    // Written for every Node.js since 12. `Agent.createConnection` may answer by callback, and
    // fetch's global dispatcher is stored under a symbol that undici promises to keep.
    static let source = #"""
        'use strict';
        // Written by lupin: sends http, https and fetch of this process through http_proxy.
        (() => {
          const [major, minor] = process.versions.node.split('.').map(Number);
          const env = process.env;
          const readsVariables = major > 24 || (major === 24 && minor >= 5)
            || (major === 22 && minor >= 21);
          const address = env.https_proxy || env.HTTPS_PROXY || env.http_proxy;
          // A process may be told of two such files, from one lupin inside another.
          const mark = Symbol.for('lupin.proxy');
          if (globalThis[mark]) return;
          globalThis[mark] = true;
          if (!address || (readsVariables && env.NODE_USE_ENV_PROXY === '1')) return;
          let proxy;
          try { proxy = new URL(address); } catch (_) { return; }
          if (proxy.protocol !== 'http:') return;

          const http = require('http');
          const https = require('https');
          const proxyHost = proxy.hostname.replace(/^\[|\]$/g, '');
          const proxyPort = Number(proxy.port || 80);
          const credentials = proxy.username && 'Basic ' + Buffer.from(
            decodeURIComponent(proxy.username) + ':' + decodeURIComponent(proxy.password)
          ).toString('base64');
          const exceptions = (env.no_proxy || env.NO_PROXY || '').toLowerCase()
            .split(/[\s,]+/).filter(Boolean);

          function goesDirectly(host, port) {
            const name = String(host).toLowerCase().replace(/^\[|\]$/g, '');
            return exceptions.some((entry) => {
              if (entry === '*') return true;
              const parts = /^(.*[^:]):(\d+)$/.exec(entry);
              if (parts && !parts[1].includes(':')) {
                if (Number(parts[2]) !== Number(port)) return false;
                entry = parts[1];
              }
              entry = entry.replace(/^\*?\./, '').replace(/^\[|\]$/g, '');
              return name === entry || name.endsWith('.' + entry);
            });
          }

          function authority(host, port) {
            const bare = String(host).replace(/^\[|\]$/g, '');
            return (bare.includes(':') ? '[' + bare + ']' : bare) + ':' + port;
          }

          // A connection through the proxy to a server; what it carries is up to the caller.
          function openTunnel(host, port, callback) {
            const target = authority(host, port);
            const headers = { Host: target };
            if (credentials) headers['Proxy-Authorization'] = credentials;
            const request = http.request({
              host: proxyHost, port: proxyPort, method: 'CONNECT', path: target, headers,
              agent: false,
            });
            request.once('connect', (response, socket) => {
              const status = response.statusCode;
              if (status >= 200 && status < 300) return callback(null, socket);
              socket.destroy();
              callback(new Error('the proxy answered ' + status + ' to CONNECT ' + target));
            });
            request.once('error', callback);
            request.end();
          }

          class SecureAgent extends https.Agent {
            createConnection(options, callback) {
              const port = options.port || 443;
              const host = options.host || options.hostname || 'localhost';
              if (options.socketPath || !callback || goesDirectly(host, port)) {
                return super.createConnection(options, callback);
              }
              openTunnel(host, port, (error, socket) => {
                if (error) return callback(error);
                callback(null, super.createConnection(Object.assign({}, options, { socket })));
              });
            }
          }

          class PlainAgent extends http.Agent {
            addRequest(request, options, ...more) {
              const port = options.port || 80;
              const host = options.host || options.hostname || 'localhost';
              if (options.socketPath || goesDirectly(host, port)) {
                return super.addRequest(request, options, ...more);
              }
              const path = request.path;
              if (path.startsWith('/')) {
                const place = authority(host, port).replace(/:80$/, '');
                const target = 'http://' + place + path;
                request.path = target;
                // Headers that were given as a list have been written down already.
                const written = request.method + ' ' + path + ' ';
                const wanted = request.method + ' ' + target + ' ';
                if (request._header && request._header.startsWith(written)) {
                  request._header = wanted + request._header.slice(written.length);
                }
                const first = request.outputData && request.outputData[0];
                if (first && typeof first.data === 'string' && first.data.startsWith(written)) {
                  first.data = wanted + first.data.slice(written.length);
                }
              }
              if (credentials && !request._header) {
                request.setHeader('Proxy-Authorization', credentials);
              }
              const changed = Object.assign({}, options, { host: proxyHost, port: proxyPort });
              return super.addRequest(request, changed, ...more);
            }
          }

          const common = { keepAlive: major >= 19, scheduling: 'lifo', timeout: 5000 };
          http.globalAgent = new PlainAgent(common);
          https.globalAgent = new SecureAgent(common);

          if (typeof globalThis.fetch !== 'function') return;
          const symbol = Symbol.for('undici.globalDispatcher.1');
          const fetchDirectly = globalThis.fetch;

          // Loading fetch costs time, so it waits for the first call.
          function install() {
            void globalThis.Response;
            const direct = globalThis[symbol];
            if (!direct || !direct.constructor) return;
            const tls = require('tls');
            const secure = new direct.constructor({
              connect(options, callback) {
                openTunnel(options.hostname, options.port || 443, (error, tunnel) => {
                  if (error) return callback(error);
                  const host = options.hostname.replace(/^\[|\]$/g, '');
                  const name = options.servername || (require('net').isIP(host) ? '' : host);
                  // Without a server name the certificate must be the host's.
                  const socket = tls.connect({
                    socket: tunnel, host, servername: name, ALPNProtocols: ['http/1.1'],
                  });
                  socket.once('secureConnect', () => callback(null, socket));
                  socket.once('error', callback);
                });
              },
            });
            const plain = new direct.constructor();
            globalThis[symbol] = {
              dispatch(options, handler) {
                const url = new URL(options.origin);
                const port = url.port || (url.protocol === 'https:' ? 443 : 80);
                if (goesDirectly(url.hostname, port)) return direct.dispatch(options, handler);
                if (url.protocol === 'https:') return secure.dispatch(options, handler);
                const extra = { host: url.host };
                if (credentials) extra['proxy-authorization'] = credentials;
                const given = options.headers;
                const headers = Array.isArray(given)
                  ? given.concat(...Object.entries(extra))
                  : Object.assign({}, given, extra);
                return plain.dispatch(Object.assign({}, options, {
                  origin: 'http://' + authority(proxyHost, proxyPort),
                  path: url.origin + options.path,
                  headers,
                }), handler);
              },
              close: (...all) => direct.close(...all),
              destroy: (...all) => direct.destroy(...all),
            };
          }

          globalThis.fetch = function fetch(...all) {
            globalThis.fetch = fetchDirectly;
            install();
            return fetchDirectly.apply(this, all);
          };
        })();

        """#
}
