# SPDX-License-Identifier: BSL-1.0
# Completion of the command extmem for bash.  Needs nothing but bash itself.

_extmem()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
	local at=$COMP_CWORD value='' opts=''

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		opts='sort merge unique top shuffle generate check btree disks bench --help --version'
		COMPREPLY=($(compgen -W "$opts" -- "$cur"))
		return
	fi

	# bash cuts words at '=' and ':': "--direct=o" is three words, and so is "0:u64".
	if [[ $cur == [=:] ]]; then
		value=$cur
		cur=''
	elif [[ $prev == [=:] ]]; then
		value=$prev
		((at--))
	fi
	if [[ $value ]]; then
		prev=${COMP_WORDS[at - 1]}
		if [[ $value == : ]]; then
			COMPREPLY=($(compgen -W 'u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 bytes r' -- "$cur"))
			return
		fi
	fi

	case $prev in
	--from | --to)
		# Of a tree these are keys.
		[[ $command == btree ]] && return
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$cur"))
		return
		;;
	-o | --output | --files0-from | --disk | --config)
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$cur"))
		return
		;;
	-T | --temporary-directory | --dir)
		compopt -o filenames
		COMPREPLY=($(compgen -d -- "$cur"))
		return
		;;
	--direct) opts='off try on' ;;
	--cache) opts='warm cold' ;;
	--kind) opts='simple buffer bufferb mapping' ;;
	--op) opts='read write' ;;
	--backend) opts='libaio io_uring syscall stdio mmap memory simdisk' ;;
	--isa) opts='scalar avx2 avx512' ;;
	--sort) opts='general-numeric human-numeric month numeric version' ;;
	--lines)
		[[ $value ]] && opts='text short urls csv csv-quoted'
		;;
	--stats)
		# What is optional comes behind an equals sign.
		[[ $value ]] && opts='json'
		;;
	--check)
		[[ $value ]] && opts='quiet silent diagnose-first'
		;;
	-n | --count)
		[[ $command == top || $command == shuffle || $command == btree ]] && return
		;;
	--scratch-compress)
		opts='auto never always'
		;;
	--fetch)
		opts='best naive'
		;;
	--place-runs)
		opts='cycling striping'
		;;
	--last-run)
		opts='auto written kept'
		;;
	--priority)
		opts='write read none'
		;;
	-k | --key | -t | --field-separator | --header | --skip | -S | --buffer-size | --record-size | --records | \
		--leaf-size | --node-size | --fill | \
		--seed | --parallel | --min-count | --max-count | --batch-size | --run-size | --block-size | \
		--read-buffers | --write-buffers | --prefetch-buffers | --scratch-max | \
		--n | --k | --block | --element | --repeat)
		return
		;;
	esac
	if [[ $opts ]]; then
		COMPREPLY=($(compgen -W "$opts" -- "$cur"))
		return
	fi

	if [[ $cur != -* ]]; then
		if [[ $command == btree ]] && ((COMP_CWORD == 2)); then
			COMPREPLY=($(compgen -W 'load get scan stat verify' -- "$cur"))
		elif [[ $command == bench ]]; then
			((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W 'io blocks' -- "$cur"))
		elif [[ $command != generate && $command != disks ]]; then
			compopt -o filenames
			COMPREPLY=($(compgen -f -- "$cur"))
		fi
		return
	fi
	# What says how lines are ordered.
	local lines='--key= --field-separator= --ignore-leading-blanks --dictionary-order --ignore-case
		--general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort
		--version-sort --sort= --reverse --stable --unique --zero-terminated --header= --csv'
	# What sorts has these, too.
	local sorting="$lines --files0-from= --record-size= --output= --buffer-size= --temporary-directory=
		--parallel= --batch-size= --run-size= --block-size= --read-buffers= --write-buffers=
		--prefetch-buffers= --fetch= --place-runs= --last-run= --priority= --direct= --backend= --isa=
		--scratch-compress= --scratch-max= --disk= --config= --no-config --stats --interval= --progress
		--no-progress --verbose --no-warnings --help --version"
	case $command in
	sort)
		opts="$sorting --check --merge --debug --plan"
		;;
	merge)
		opts=$sorting
		;;
	unique)
		opts="$sorting --count --repeated --min-count= --max-count= --presorted"
		;;
	top)
		opts="$sorting --count= --skip="
		;;
	shuffle)
		opts="--count= --seed= --zero-terminated --header= --csv --field-separator= ${sorting#"$lines "}"
		;;
	generate)
		opts='--records= --size= --record-size= --gensort --lines --seed= --output= --progress --no-progress
			--help --version'
		;;
	check)
		opts="$lines --record-size= --unsorted --progress --no-progress --help --version"
		;;
	btree)
		case ${COMP_WORDS[2]-} in
		load)
			opts="--unique --reverse --duplicates --presorted --leaf-size= --node-size= --fill=
				${sorting#"$lines "}"
			;;
		get) opts='--output= --buffer-size= --direct= --backend= --help --version' ;;
		scan)
			opts='--from= --to= --count= --reverse --output= --buffer-size= --direct= --backend= --help
				--version'
			;;
		*) opts='--buffer-size= --direct= --backend= --help --version' ;;
		esac
		;;
	disks)
		opts='--temporary-directory= --disk= --scratch-max= --direct= --backend= --isa= --config= --no-config
			--measure --csv --json --no-warnings --help --version'
		;;
	bench)
		if [[ ${COMP_WORDS[2]} == blocks ]]; then
			opts='--backend= --op= --order= --block= --size= --most= --repeat= --direct= --dir= --csv
				--json --help --version'
		else
			opts='--op= --kind= --n= --k= --block= --element= --repeat= --from= --cache= --dir= --force
				--csv --json --help --version'
		fi
		;;
	esac
	COMPREPLY=($(compgen -W "$opts" -- "$cur"))
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -F _extmem extmem
