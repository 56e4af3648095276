// Which lines of settings count as harmless: those that people have, and no others.
import LupinConfinement
import LupinCore
import Testing

struct ToolSettingsTests {
    @Test(arguments: [
        #"""
        [user]
            name = Ann Ö'Neil
            email = 1234567+ann@users.noreply.github.com
            signingkey = 3AA5C34371567BD2AA5C34371567BD2AA5C34371
        [commit]
            gpgsign = true
        [core]
            editor = code --wait
            autocrlf = input
            excludesfile = ~/.gitignore_global
        """#,
        #"""
        [alias]
         co = checkout
         lg = log --graph --pretty=format:'%Cred%h%Creset -%C(yellow)%d%Creset %s'
         pu = push -u origin HEAD
         up = "!git remote update -p; git merge --ff-only @{u}"
         cleanup = "!f() { git branch --merged | grep -v '^*' | xargs git branch -d; }; f"
         root = rev-parse --show-toplevel
        """#,
        #"""
        [credential "https://github.com"]
            helper = 
            helper = !/usr/bin/gh auth git-credential
        [credential]
            helper = cache --timeout=3600
        """#,
        #"""
        [filter "lfs"]
            clean = git-lfs clean -- %f
            smudge = git-lfs smudge -- %f
            process = git-lfs filter-process
            required = true
        [includeIf "gitdir:~/work/"]
            path = ~/.gitconfig-work
        """#,
        #"""
        # This is Git's per-user configuration file.
        [user]
        # Please adapt and uncomment the following lines:
        #    name = root
        #    email = root@host
        """#,
        #"""
        [url "git@github.com:"]
            insteadOf = https://github.com/
        [url "ssh://git@gitlab.com/"]
         insteadOf = gl:
        [http]
            proxy = http://proxy.test:3128
            sslVerify = false
        [http "https://corp.example"]
            sslCAInfo = /etc/ssl/corp.pem
        """#,
        #"""
        [core]
            pager = delta
        [interactive]
            diffFilter = delta --color-only
        [delta]
            navigate = true
            syntax-theme = Monokai Extended
        [merge]
            conflictstyle = zdiff3
        [diff]
            colorMoved = default
        """#,
        #"""
        [gpg]
            format = ssh
        [gpg "ssh"]
            program = /opt/1Password/op-ssh-sign
            allowedSignersFile = ~/.ssh/allowed_signers
        [user]
            signingkey = ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1234567890
        """#,
        #"""
        [core]
            sshCommand = ssh -i ~/.ssh/id_work -o IdentitiesOnly=yes
            fileMode = false
            symlinks
        [safe]
            directory = *
        """#,
        #"""
        [merge]
         tool = vimdiff
        [mergetool "vimdiff"]
         cmd = nvim -d $LOCAL $REMOTE $MERGED -c 'wincmd w' -c 'wincmd J'
        [difftool]
         prompt = false
        [push]
         default = current
         autoSetupRemote = true
        [pull] rebase = true
        [fetch]
         prune = true ; keeps it tidy
        [rerere] enabled = 1
        [column]
         ui = auto
        [branch]
         sort = -committerdate
        [tag]
         sort = version:refname
        [init]
         defaultBranch = main
        """#,
        #"""
        [core]
         editor = /nix/store/0c9x5h8q2r7w3z1k4v6b8n0m2a4s6d8f-vim/bin/vim
        [sendemail]
         smtpServer = smtp.example.org
         smtpServerPort = 587
         smtpUser = ann@example.org
         smtpEncryption = tls
        [branch "main"]
         remote = origin
         merge = refs/heads/main
        [github]
         user = ann
        """#,
        #"""
        [color "diff-highlight"]
         oldNormal = red bold
        [log]
         date = iso
        [alias]
         aliases = "!git config --get-regexp ^alias | sort"
         undo = reset --soft HEAD~1
        [help]
         autocorrect = 10
        [advice]
         detachedHead = false
        """#,
    ])
    func `settings of git that people have are harmless`(_ text: String) {
        for text in [text, text.replacing("\n", with: "\r\n"), "\u{FEFF}" + text] {
            #expect(ToolSettings(text, of: .git).doubt == nil, "\(text)")
        }
    }

    @Test(arguments: [
        (#"[sendemail]\#nsmtpPass = x"#, 2, "sendemail.smtpPass"),
        (#"[imap]\#npass = x"#, 2, "imap.pass"),
        (#"[alias]\#nd = !curl -H "Authorization: Bearer x" h"#, 2, "alias.d"),
        (#"[alias] d = "!curl -u me:x h""#, 1, "alias.d"),
        (#"[core] sshCommand = sshpass -p x ssh"#, 1, "core.sshCommand"),
        (#"[core] askpass = "echo x""#, 1, "core.askpass"),
        (#"[hub] apikey = x"#, 1, "hub.apikey"),
        (#"[bugzilla "x"] pat = x"#, 1, "bugzilla.pat"),
        (#"[jira]\#nsession=x"#, 2, "jira.session"),
        (#"[url "https://h/"]\#ninsteadOf = https://u:PLAN\\#nTED@h/"#, 2, "url.insteadOf"),
        (#"[remote "x"] url = https://ghp_x@h/"#, 1, "remote.url"),
        (#"[url "https://u:p@h/"]\#n insteadOf = x"#, 2, "url.insteadOf"),
        (#"[http] extraHeader = x"#, 1, "http.extraHeader"),
        (#"[user]\#n# [imap]\#n# pass = x"#, 3, "a comment"),
        (#"[http] proxy = u:p@h:1"#, 1, "http.proxy"),
        (#"[user] name = x ; token = y"#, 1, "a comment"),
        (#"name = x"#, 1, "not understood"),
        (#"[alias]\#n d = "!TOK=x git fetch""#, 2, "alias.d"),
        (#"[credential] helper = "!f() { echo password=x; }; f""#, 1, "credential.helper"),
        (#"[credential]\#nhelper = /bin/x secretarg"#, 2, "credential.helper"),
    ])
    func `the first line of git's that may hold a credential is told`(
        _ text: String,
        line: Int,
        key: String
    ) {
        #expect(ToolSettings(text, of: .git).doubt == ToolSettings.Doubt(line: line, key: key))
        let later = "[user]\n name = Ann\n" + text
        #expect(
            ToolSettings(later, of: .git).doubt?.line == (key == "not understood" ? nil : line + 2)
        )
    }

    @Test func `what is not known is not harmless, nor what is not understood`() {
        for text in ["[new]\nkey = 1", "[user]\nnew = 1", "[user", "[a]\nk = \"x", "[a]\nk \\"] {
            #expect(ToolSettings(text, of: .git).doubt != nil, "\(text)")
        }
        for text in ["[new]\nkey = 1", "[build", "[build]\njobs = \"4", "[build]\nx", "a = {"] {
            #expect(ToolSettings(text, of: .cargo).doubt != nil, "\(text)")
        }
        let deep = "build.x = " + String(repeating: "[", count: 100_000)
        #expect(ToolSettings(deep, of: .cargo).doubt?.line == 1)
    }

    @Test func `included files are told`() {
        let git = "[include]\npath = ~/a.inc\n[includeIf \"onbranch:x\"] path = \"b.inc\" # c"
        #expect(ToolSettings(git, of: .git).includes == ["~/a.inc", "b.inc"])
        #expect(ToolSettings("[include] path = ~ann/a", of: .git).doubt?.key == "include.path")
        let cargo = "include = ['a.toml', {path = \"b.toml\"}]"
        #expect(ToolSettings(cargo, of: .cargo).includes == ["a.toml", "b.toml"])
    }

    @Test func `settings of cargo that people have are harmless`() {
        let text = #"""
            [build]
            jobs = 4
            rustc-wrapper = "sccache"
            rustflags = ["-C", "target-cpu=native"]
            [target.x86_64-unknown-linux-gnu]
            linker = "clang"
            rustflags = ["-C", "link-arg=-fuse-ld=mold",
            # fast
            ]
            [net]
            git-fetch-with-cli = true
            [registries]
            corp = { index = "sparse+https://cargo.corp.example/index/" }
            [registries.other]
            index = 'ssh://git@h/x.git'
            credential-provider = ["cargo:token-from-stdout", "corp-login"]
            [source.crates-io]
            replace-with = "tuna"
            [source.tuna]
            registry = "sparse+https://mirrors.tuna.test/crates.io-index/"
            [alias]
            b = "build"
            xtask = ["run", "--package", "xtask", "--"]
            [profile.release]
            lto = true
            [env]
            RUST_LOG = "debug"
            OPENSSL_DIR = { value = "/opt/ssl", relative = false }
            [patch.crates-io]
            foo = { git = "https://h/f", rev = "3AA5C34371567BD2AA5C34371567BD2AA5C34371" }
            [registry]
            global-credential-providers = ["cargo:token"]
            [term]
            verbose = false
            """#
        #expect(ToolSettings(text, of: .cargo).doubt == nil)
    }

    @Test(arguments: [
        (#"[registries.x]\#nsecret-key = 'x'"#, 2, "registries.x.secret-key"),
        (#"[registries.x]\#n"tok\u0065n" = 'x'"#, 2, "registries.x.token"),
        (#"[env]\#nAPI_KEY = 'x'"#, 2, "env.API_KEY"),
        (#"[registry]\#ntoken = 'x'"#, 2, "registry.token"),
        (#"registries.x.token = 'x'"#, 1, "registries.x.token"),
        (#"registries = { x = { token = 'x' } }"#, 1, "registries.x.token"),
        (#"[env]\#nCARGO_REGISTRY_TOKEN='x'"#, 2, "env.CARGO_REGISTRY_TOKEN"),
        (#"[http]\#nproxy='u:p@h:1'"#, 2, "http.proxy"),
        (#"[source.x]\#nregistry = "sparse+https://u:p@h/""#, 2, "source.x.registry"),
        (#"x = """a\#nb""""#, 1, "x"),
        (#"# token = 'x'"#, 1, "a comment"),
    ])
    func `the first line of cargo's that may hold a credential is told`(
        _ text: String,
        line: Int,
        key: String
    ) {
        #expect(ToolSettings(text, of: .cargo).doubt == ToolSettings.Doubt(line: line, key: key))
    }
}
